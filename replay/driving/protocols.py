"""How a model is led through a task: plain function calling, M3-Bench's four stages, MCP-Bench's rounds.

Each protocol gives the final reply and how the work ended. What the model gets wrong in form is recorded as it came.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import yaml

from replay.chat import FunctionCall
from replay.driving.session import MadeCall, Session, WrittenCall
from replay.formats.openai_chat import is_unparsed_call
from replay.json_values import json_value

DriveProtocol: TypeAlias = Literal["native", "m3", "mcpbench"]

TURNS: Final[Mapping[DriveProtocol, int]] = {"native": 100, "m3": 20, "mcpbench": 20}
"""The most turns: TOBench's for plain function calling, MCP-Bench's rounds; M3-Bench's paper gives none."""
_LONG: Final = 8_000
"""Characters of an answer from which MCP-Bench's driver has it shortened, about 2,000 tokens."""
_CHARACTERS_A_TOKEN: Final = 4


class Ending(NamedTuple):
    """How the work on a task ended."""

    reply: str | None
    how: Literal["answered", "turn-limit", "unreadable"]


class Work(NamedTuple):
    """A task as a protocol gets it."""

    question: str
    content: Any
    """The question as the content of a message, with its images."""
    turns: int


def load_prompts(protocol: DriveProtocol) -> dict[str, Any]:
    """The prompt file of a protocol."""
    text = files("replay.driving").joinpath("prompts", f"{protocol}.yaml").read_text("utf-8")
    prompts: dict[str, Any] = yaml.safe_load(text)
    return prompts


def prompt_version(protocol: DriveProtocol) -> str:
    """Name and version of the prompts, as they stand beside every result."""
    return f"{protocol}/{load_prompts(protocol)['version']}"


def _filled(protocol: DriveProtocol, stage: str, session: Session, **values: str) -> str:
    workspace = f"Files are in {session.workspace}." if session.workspace else ""
    return Template(load_prompts(protocol)[stage]).substitute(workspace=workspace, **values).strip()


async def native(session: Session, work: Work) -> Ending:
    """Function calling: until a message calls nothing."""
    functions = [tool.as_function for tool in session.toolbox.tools]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _filled("native", "system", session)},
        {"role": "user", "content": work.content},
    ]
    for _ in range(work.turns):
        reply = await session.ask(messages, functions)
        if not reply.tool_requests:
            if is_unparsed_call(reply.text):
                session.unreadable(reply.text)
                return Ending(None, "unreadable")
            return Ending(reply.text, "answered")
        requests = [
            request.model_copy(update={"id": request.id or f"call-{len(messages)}-{number}"})
            for number, request in enumerate(reply.tool_requests)
        ]
        made = await session.make(list(map(_written, requests)), reply.text)
        sent = [
            {"id": request.id, "type": "function", "function": request.model_dump(include={"name", "arguments"})}
            for request in requests
        ]
        messages.append({"role": "assistant", "content": reply.text, "tool_calls": sent})
        messages += [
            {"role": "tool", "tool_call_id": request.id, "content": call.told}
            for request, call in zip(requests, made, strict=True)
        ]
    return Ending(None, "turn-limit")


def _written(request: FunctionCall) -> WrittenCall:
    """A function call; `""` means no arguments, as everywhere in this protocol."""
    try:
        return WrittenCall(request.name, json_value(request.arguments) if request.arguments.strip() else {})
    except ValueError:
        return WrittenCall(request.name, None, request.arguments)


async def m3(session: Session, work: Work) -> Ending:
    """Plan, process, decide, until the model says that it is enough; then the answer alone."""
    done: list[str] = []
    how: Literal["answered", "turn-limit"] = "turn-limit"

    def user() -> str:
        return _filled("m3", "user", session, task=work.question, transcript=_transcript(done))

    for turn in range(1, work.turns + 1):
        lines = "\n".join(tool.line for tool in session.toolbox.tools)
        plan = await session.say(_filled("m3", "plan", session, tools=lines), user(), as_json=True)
        chosen = "\n".join(tool.definition for tool in session.toolbox.named_in(plan))
        written = await session.say(_filled("m3", "process", session, tools=chosen), user(), as_json=True)
        calls = _listed(written, "tool_calls", "name", "arguments")
        if calls is None:
            session.unreadable(written)
            done.append(f"STEP {turn}\nthe reply could not be read as calls")
        else:
            done.append(_step_text(turn, await session.make(calls, plan)))
        decision = await session.say(_filled("m3", "decide", session), user())
        if decision.strip().lower().startswith("yes"):
            how = "answered"
            break
    return Ending(await session.say(_filled("m3", "final", session), user()), how)


async def mcpbench(session: Session, work: Work) -> Ending:
    """Rounds of calls that run together, long answers shortened, and a solution from all of them."""
    done: list[str] = []
    how: Literal["answered", "turn-limit"] = "turn-limit"
    tools = "\n".join(tool.definition for tool in session.toolbox.tools)

    def user(turn: int) -> str:
        values = {"task": work.question, "transcript": _transcript(done), "round": str(turn)}
        return _filled("mcpbench", "user", session, **values)

    for turn in range(1, work.turns + 1):
        written = await session.say(_filled("mcpbench", "plan", session, tools=tools), user(turn), as_json=True)
        plan = _object(written)
        if plan is not None and not plan.get("should_continue", True):
            how = "answered"
            break
        calls = _listed(written, "planned_tools", "tool", "parameters")
        if calls is None:
            session.unreadable(written)
            done.append(f"ROUND {turn}\nthe plan could not be read")
            continue
        reasoning = plan.get("reasoning") if plan is not None else None
        made = await session.make(calls, reasoning if isinstance(reasoning, str) else "")
        done.append(_step_text(turn, [await _shortened(session, call) for call in made]))
    return Ending(await session.say(_filled("mcpbench", "final", session), user(len(done) + 1)), how)


async def _shortened(session: Session, call: MadeCall) -> MadeCall:
    if len(call.told) <= _LONG:
        return call
    system = _filled("mcpbench", "compress", session, limit=str(_LONG // _CHARACTERS_A_TOKEN))
    return call._replace(told=await session.say(system, call.told))


def _transcript(done: Sequence[str]) -> str:
    return "\n\n".join(done) or "(nothing yet)"


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a reply is, and nothing beside it."""
    try:
        value = json_value(text.strip())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _listed(text: str, key: str, name: str, arguments: str) -> list[WrittenCall] | None:
    """The calls under a key of a reply that is strict JSON; None where it is not, or lists none."""
    listed = (_object(text) or {}).get(key)
    if not isinstance(listed, list) or not listed or not all(isinstance(call, dict) for call in listed):
        return None
    return [WrittenCall(call.get(name), call.get(arguments, {})) for call in listed]


def _step_text(number: int, calls: Sequence[MadeCall]) -> str:
    lines = [f"STEP {number}"]
    for call in calls:
        lines += [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}", f"-> {call.told}"]
    return "\n".join(lines)


Protocol: TypeAlias = Callable[[Session, Work], Awaitable[Ending]]
PROTOCOLS: Final[Mapping[DriveProtocol, Protocol]] = {"native": native, "m3": m3, "mcpbench": mcpbench}
