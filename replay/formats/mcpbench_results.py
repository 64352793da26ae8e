"""MCP-Bench results, of the original benchmark and of its fork that runs on ADK.

`{task_run_results: {MODEL: [{task_id, execution_results: [{tool, server, round, parameters, success, response}]}]}}`.
The original writes `round_num` and `result`. Where agents are called as tools, their own calls stand in
`inner_tool_calls` and are trajectories of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, as_object, first_of, identifier_of, object_in, objects, text_of
from replay.formats.google_adk import ADK
from replay.formats.record_builders import answer_of, error_answer, labels_of, number_calls, usage_of, written_call
from replay.formats.times import earliest, iso_time, seconds_after, seconds_of
from replay.records import Answer, Call, JsonObject, ParentCall, ReportedResult, Source, Step, Task, Trajectory

_AGENT_SERVER = "adk_agent_tool"


class McpBenchReader:
    """Reads MCP-Bench results."""

    name = "mcp-bench"
    title = "MCP-Bench results"
    expected_shape = 'MCP-Bench results ({"task_run_results": {MODEL: [{"task_id", "execution_results"}]}})'

    def sniff(self, head: Head) -> Match:
        """The results of a run stand under `task_run_results`, those of a task under `execution_results`."""
        first = head.first
        if "task_run_results" in first:
            return Match(1.0, '"task_run_results"')
        if "execution_results" in first and ("task_id" in first or "model_name" in first):
            return Match(0.95, '"execution_results" of a task')
        if "run_metadata" in first and "task_file" in first:
            return Match(0.8, '"task_file" and "run_metadata"')
        listed = next((objects(value) for value in first.values() if objects(value)), [])
        return Match(0.9, "tasks by model") if listed and "execution_results" in listed[0] else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a task and model, and one for each agent that was called as a tool."""
        for element in document.objects():
            found = list(_tasks(element.value, element.place))
            if not found:
                document.leave(element)
            several = len({model for model, _, _ in found}) > 1
            for model, task, place in found:
                model_name = text_of(task.get("model_name")) or model or document.model_of_results
                task_id = identifier_of(task.get("task_id")) or place
                identifier = f"{task_id}@{model_name}" if several else task_id
                yield from _task_trajectories(task, identifier, model_name, place, document)


def _tasks(value: JsonObject, place: str) -> Iterator[tuple[str | None, JsonObject, str]]:
    """(model, task, place) of each task in a file."""
    if "execution_results" in value:
        yield None, value, place
        return
    by_model = as_object(value.get("task_run_results"))
    prefix = f"{place}.task_run_results" if by_model is not None else place
    for model, tasks in (by_model if by_model is not None else value).items():
        for index, task in enumerate(objects(tasks)):
            if by_model is not None or "execution_results" in task:
                yield model, task, f"{prefix}.{model}[{index}]"


def _task_trajectories(
    task: JsonObject, identifier: str, model: str, place: str, document: Document
) -> Iterator[Trajectory]:
    results = objects(task.get("execution_results"))
    steps = number_calls(_steps(results, "round"))
    usage = object_in(task, "token_usage")
    yield Trajectory(
        id=identifier,
        model=model,
        task=Task(
            question=text_of(first_of(task, "task_description", "fuzzy_description", "description")),
            id=identifier_of(task.get("task_id")),
            labels=labels_of(task),
        ),
        source=Source(file=document.path, format=McpBenchReader.name, position=place),
        steps=steps,
        final_reply=text_of(first_of(task, "solution", "final_solution")),
        usage=usage_of(usage.get("prompt_tokens"), usage.get("completion_tokens")),
        reported=_reported(task),
        started_at=iso_time(earliest(results)),
    )
    ordered = [result for group in _rounds(results, "round") for result in group]
    positions = [call.position for step in steps for call in step.calls]
    for result, position in zip(ordered, positions, strict=True):
        inner = objects(result.get("inner_tool_calls"))
        if inner:
            yield Trajectory(
                id=f"{identifier}/{identifier_of(result.get('call_id')) or position}",
                model=model,
                task=Task(question=text_of(object_in(result, "parameters").get("request"))),
                source=Source(file=document.path, format=McpBenchReader.name, position=f"{place} {position}"),
                steps=number_calls(_steps(inner, "sub_round")),
                parent=ParentCall(trajectory=identifier, call=position),
                started_at=iso_time(earliest(inner)),
            )


def _rounds(results: list[JsonObject], key: str) -> list[list[JsonObject]]:
    """The results of each round together, in the order of the file; one without a round is one of its own."""
    rounds: list[list[JsonObject]] = []
    last: Any = MISSING
    for result in results:
        number = first_of(result, key, "round", "round_num")
        if number is not None and number == last:
            rounds[-1].append(result)
        else:
            rounds.append([result])
        last = number
    return rounds


def _steps(results: list[JsonObject], key: str) -> list[Step]:
    start = earliest(results)
    return [Step(calls=tuple(_call(result, start) for result in group)) for group in _rounds(results, key)]


def _call(result: JsonObject, start: float | None) -> Call:
    name, server = text_of(result.get("tool")), text_of(result.get("server"))
    call = written_call(
        name,
        result.get("parameters"),
        id=identifier_of(result.get("call_id")),
        answer=_answer(result),
        started=seconds_after(start, seconds_of(result.get("timestamp"))),
    )
    local = server == _AGENT_SERVER or name in ADK or bool(result.get("inner_tool_calls"))
    if server is None or local or name is None:
        return call.model_copy(update={"local": local})
    return call.model_copy(update={"server": server, "tool": _tool(name, server)})


def _tool(name: str, server: str) -> str:
    """The tool of `SERVER__TOOL` or `SERVER:TOOL`; the server's name is folded there: `hugging_face`."""
    for mark in ("__", ":", "/"):
        before, found, after = name.partition(mark)
        if found and after and _folded(before) == _folded(server):
            return after
    return name


def _folded(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _answer(result: JsonObject) -> Answer | None:
    success = result.get("success")
    failed = None if not isinstance(success, bool) else not success
    given = first_of(result, "response", "result")
    if given is None and failed:
        return error_answer(result.get("error"))
    return answer_of(given, failed)


def _reported(task: JsonObject) -> ReportedResult | None:
    """What the benchmark found. Its file has no one score, but several of its judge and of its rules."""
    evaluation = as_object(task.get("evaluation"))
    status = text_of(task.get("status"))
    if evaluation is None and status is None:
        return None
    figures = {
        key: value
        for key, value in (evaluation or {}).items()
        if isinstance(value, int | float) and not key.endswith("timestamp")
    }
    return ReportedResult(details={**({"status": status} if status else {}), **figures})
