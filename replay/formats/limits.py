"""Trajectories as everything behind the readers can hold them: see `replay.json_values`."""

from __future__ import annotations

from replay.json_values import bounded, is_too_deep, json_text
from replay.records import Answer, Call, Server, Step, Tool, ToolResult, Trajectory
from replay.records.answer import RpcError


def within_limits(trajectory: Trajectory) -> Trajectory:
    """The trajectory without what is nested too deeply; the same object where all is well.

    Arguments that are nested too deeply cannot be sent as they were recorded: they count as not read, and stand in
    `raw`. Answers and schemas are kept as far as they go.
    """
    steps = tuple(map(_step, trajectory.steps))
    servers = tuple(map(_server, trajectory.servers))
    if all(map(_is_same, steps, trajectory.steps)) and all(map(_is_same, servers, trajectory.servers)):
        return trajectory
    return trajectory.model_copy(update={"steps": steps, "servers": servers})


def _step(step: Step) -> Step:
    calls = tuple(map(_call, step.calls))
    return step if all(map(_is_same, calls, step.calls)) else step.model_copy(update={"calls": calls})


def _call(call: Call) -> Call:
    answer = None if call.answer is None else _answer(call.answer)
    if call.arguments is not None and is_too_deep(call.arguments):
        raw = json_text(call.arguments)
        return call.model_copy(
            update={"arguments": None, "unreadable": call.unreadable or "arguments", "raw": raw, "answer": answer}
        )
    arguments = bounded(call.arguments)
    if arguments is call.arguments and answer is call.answer:
        return call
    return call.model_copy(update={"arguments": arguments, "answer": answer})


def _answer(answer: Answer) -> Answer:
    if isinstance(answer, ToolResult):
        content, structured = bounded(answer.content), bounded(answer.structured)
        if content is answer.content and structured is answer.structured:
            return answer
        return answer.model_copy(update={"content": content, "structured": structured})
    if isinstance(answer, RpcError):
        data = bounded(answer.data)
        return answer if data is answer.data else answer.model_copy(update={"data": data})
    return answer


def _server(server: Server) -> Server:
    tools = tuple(map(_tool, server.tools))
    return server if all(map(_is_same, tools, server.tools)) else server.model_copy(update={"tools": tools})


def _tool(tool: Tool) -> Tool:
    fields = {name: getattr(tool, name) for name in ("input_schema", "output_schema", "annotations")}
    kept = {name: bounded(value) for name, value in fields.items()}
    return tool if all(kept[name] is fields[name] for name in fields) else tool.model_copy(update=kept)


def _is_same(left: object, right: object) -> bool:
    return left is right
