"""From a recording's journal to its DAG file: calls with their answers, grouped into steps, and their servers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import ValidationError

from replay.errors import InputError
from replay.interpreter.session.handshake import SERVER_INFO_META_KEY
from replay.interpreter.session.json_rpc import Failed, Returned
from replay.interpreter.session.server_connection import answer_of as read_answer
from replay.interpreter.session.tools_list import tool_of
from replay.json_values import bounded
from replay.recorder.recording import DEFAULT_SERVER_NAME
from replay.records import (
    Answer,
    Call,
    JsonObject,
    RpcError,
    Server,
    Source,
    Step,
    Task,
    Tool,
    ToolResult,
    TransportFault,
    digest_of,
)
from replay.records.files import TrajectoryFile
from replay.safety.filesystem import write_json

_Unreadable = Literal["call", "name", "arguments"]

_NO_ANSWER: Final = TransportFault(fault="closed", message="the recording ended before an answer came")
SOURCE_FORMAT = "recorder"


def write_trajectory(entries: Iterable[dict[str, Any]], target: Path) -> str:
    """Write the DAG file of a journal's entries.

    Returns:
        What was written, in words.

    Raises:
        InputError: the journal cannot be read.
    """
    try:
        trajectory = assemble(entries, target.name)
    except ValidationError as problem:
        why = problem.errors(include_url=False)[0]["msg"]
        raise InputError(str(target), f"the recording cannot be made a trajectory: {why}") from None
    write_json(trajectory, target, private=True)
    calls = sum(1 for _ in trajectory.calls())
    return f"{_count(calls, 'call')} in {_count(len(trajectory.steps), 'step')}: {target}"


def assemble(entries: Iterable[dict[str, Any]], file: str) -> TrajectoryFile:
    """The trajectory that a journal records; an entry that cannot be read, as damage makes them, is left out.

    Args:
        entries: the journal, its header first.
        file: name of the trajectory file.
    """
    entries = iter(entries)
    header = next(entries)
    builder = _TrajectoryBuilder()
    for entry in entries:
        with suppress(
            KeyError, TypeError, AttributeError, ValueError, ArithmeticError
        ):  # a damaged entry costs itself, not the rest
            builder.apply_event(entry)
    return TrajectoryFile(
        id=str(header.get("id") or file),
        model=str(header.get("model") or "unknown"),
        task=Task(question=header.get("task")),
        source=Source(file=file, format=SOURCE_FORMAT),
        steps=tuple(builder.steps()),
        final_reply=builder.grouper.trailing_text(),
        servers=builder.metadata.servers(),
    )


class _TrajectoryBuilder:
    """Rebuilds a trajectory from the events of its journal, in their order."""

    def __init__(self) -> None:
        self.grouper = StepGrouper()
        self.metadata = ServerMetadata()
        self._drafts: dict[int, CallDraft] = {}

    def apply_event(self, entry: dict[str, Any]) -> None:
        """Take one journal entry."""
        event, message, number = entry.get("event"), entry.get("message"), entry.get("n", 0)
        if event == "call":
            self._drafts[number] = CallDraft(message, float(entry["t"]), entry.get("server"), entry.get("tool"))
            self.grouper.call_sent(number)
        elif event == "unparsed":
            self._drafts[number] = CallDraft(str(message), float(entry["t"]))
            if entry.get("open"):
                self.grouper.call_sent(number)
            else:
                self.grouper.call_not_sent(number)
        elif event == "over":
            self.grouper.call_ended(number)
        elif event in {"answer", "fault"}:
            self._drafts[number].end(message, float(entry["t"]), fault=event == "fault")
            self.grouper.call_ended(number)
        elif event == "note":
            self.grouper.note(str(message))
        elif event == "step":
            self.grouper.mark_step(begins=bool(message))
        else:
            self.metadata.apply_event(entry)

    def steps(self) -> Iterable[Step]:
        server = self.metadata.only_name()
        for index, (numbers, text) in enumerate(self.grouper.steps(), 1):
            drafts = [self._drafts[number] for number in numbers]
            calls = (draft.call(f"s{index}c{place}", server) for place, draft in enumerate(drafts, 1))
            yield Step(calls=tuple(calls), text=text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass
class CallDraft:
    """A call as a journal has it; its answer may still be missing."""

    request: Any
    """The JSON-RPC request, or the text of a call that nobody could read."""
    began: float
    server: str | None = None
    tool: str | None = None
    ended: float | None = None
    answer: Answer | None = None

    def end(self, message: Any, at: float, *, fault: bool) -> None:
        """Take what came back; the first answer stands."""
        if self.ended is None:
            self.ended = at
            self.answer = TransportFault(**message) if fault else to_answer(message)

    def call(self, position: str, server: str | None) -> Call:
        """The record.

        Args:
            position: its place in the trajectory.
            server: the server it went to where the journal does not say.
        """
        name, arguments, unreadable, raw = _split_request(self.request)
        resolved_server = self.server or server
        is_resolved = resolved_server is not None and name is not None
        return Call(
            position=position,
            name=name,
            server=resolved_server if is_resolved else None,
            tool=(self.tool or name) if is_resolved else None,
            arguments=arguments,
            unreadable=unreadable,
            raw=raw,
            id=_request_id(self.request),
            answer=self.answer or (None if isinstance(self.request, str) else _NO_ANSWER),
            started=round(self.began, 6),
            seconds=None if self.ended is None else round(self.ended - self.began, 6),
        )


def to_answer(response: Any) -> Answer:
    """The answer in a JSON-RPC response, read as the interpreter reads one: a replay must see the same."""
    if not isinstance(response, dict):
        return TransportFault(fault="unreadable", message="the response is not a JSON object")
    error = response.get("error")
    outcome = Failed(error) if isinstance(error, dict) else Returned(bounded(response.get("result")))
    return read_answer(outcome, lambda note: None)


def to_response(answer: Answer) -> dict[str, Any]:
    """A JSON-RPC response with that answer."""
    if isinstance(answer, ToolResult):
        return {"result": to_result(answer)}
    if isinstance(answer, RpcError):
        data = {} if answer.data is None else {"data": answer.data}
        return {"error": {"code": answer.code, "message": answer.message, **data}}
    raise TypeError(f"no response can carry {answer!r}")


def to_result(answer: ToolResult) -> dict[str, Any]:
    """A tool result as it goes over the wire."""
    structured = {} if answer.structured is None else {"structuredContent": answer.structured}
    return {"content": list(answer.content), **structured, "isError": answer.is_error}


def _split_request(request: Any) -> tuple[str | None, JsonObject | None, _Unreadable | None, str | None]:
    """Name, arguments, which part cannot be read, and that part verbatim."""
    if isinstance(request, str):
        return None, None, "call", request
    params = request.get("params") if isinstance(request, dict) else None
    if not isinstance(params, dict):
        return None, None, "call", json.dumps(request, ensure_ascii=False)
    name, arguments = params.get("name"), params.get("arguments")
    if isinstance(name, str) and isinstance(request.get("unreadable_arguments"), str):
        return name, None, "arguments", request["unreadable_arguments"]
    arguments = {} if arguments is None else arguments
    if not isinstance(name, str):
        kept_arguments = arguments if isinstance(arguments, dict) else None
        return None, kept_arguments, "name", json.dumps(name, ensure_ascii=False) if "name" in params else None
    if not isinstance(arguments, dict):
        return name, None, "arguments", json.dumps(arguments, ensure_ascii=False)
    return name, cast("JsonObject", bounded(arguments)), None, None


def _request_id(request: Any) -> str | None:
    identifier = request.get("id") if isinstance(request, dict) else None
    if isinstance(identifier, str):
        return identifier
    return None if identifier is None else json.dumps(identifier)


@dataclass
class _StepDraft:
    calls: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    opened_by_text: bool = False
    """Begun by the model's text, and nothing sent in it yet: what follows is still of the same message."""


class StepGrouper:
    """Groups calls into steps by time: calls that overlap are one step, a call after all of them ended begins the next.

    A step marked by hand holds all calls up to the next mark. The model's text goes with the step that follows it.
    """

    def __init__(self) -> None:
        self._steps: list[_StepDraft] = []
        self._calls_in_flight: set[int] = set()
        self._texts: list[str] = []
        self._marked_by_hand = False
        self._starts_new_step = True

    def call_sent(self, number: int) -> None:
        """A call was sent."""
        step = self._step_for_next()
        step.calls.append(number)
        step.opened_by_text = False
        self._calls_in_flight.add(number)

    def call_not_sent(self, number: int) -> None:
        """A call was written that was never sent."""
        self._step_for_next().calls.append(number)

    def call_ended(self, number: int) -> None:
        """A call was answered, or will never be."""
        self._calls_in_flight.discard(number)

    def note(self, text: str) -> None:
        """The model wrote something."""
        if self._marked_by_hand and not self._starts_new_step:
            self._steps[-1].texts.append(text)
        else:
            self._texts.append(text)
            self._starts_new_step = True

    def mark_step(self, begins: bool) -> None:
        """A step is marked by hand; with `begins` false it ends, and from there on the timing decides again."""
        self._marked_by_hand, self._starts_new_step = begins, True

    def steps(self) -> Iterator[tuple[tuple[int, ...], str | None]]:
        """The calls of each step, and its text."""
        for step in self._steps:
            yield tuple(step.calls), _joined(step.texts)

    def trailing_text(self) -> str | None:
        """What the model wrote after its last call."""
        return _joined(self._texts)

    def _step_for_next(self) -> _StepDraft:
        open_still = self._marked_by_hand or self._calls_in_flight or (self._steps and self._steps[-1].opened_by_text)
        if self._starts_new_step or not open_still:
            self._steps.append(_StepDraft(texts=self._texts, opened_by_text=bool(self._texts)))
            self._texts, self._starts_new_step = [], False
        return self._steps[-1]


def _joined(texts: list[str]) -> str | None:
    return "\n".join(texts) if texts else None


@dataclass
class _ServerDraft:
    identity: dict[str, Any] = field(default_factory=dict)
    protocol: str | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    listed: bool = False


class ServerMetadata:
    """Collects identities and tools/list answers from the events of a journal."""

    def __init__(self) -> None:
        self._drafts: dict[str | None, _ServerDraft] = {}
        self._complete: dict[str, Server] = {}

    def apply_event(self, entry: dict[str, Any]) -> None:
        """Take one journal entry; those of other kinds are passed over."""
        event, message, name = entry.get("event"), entry.get("message"), entry.get("server")
        if event == "server":
            server = Server.model_validate(message)
            self._complete[server.name] = server
            return
        result = message.get("result") if isinstance(message, dict) else None
        if not isinstance(result, dict):
            return
        if event == "identity":
            _apply_identity(self._drafts.setdefault(name, _ServerDraft()), result, entry.get("protocol"))
        elif event == "tools":
            _apply_tools(self._drafts.setdefault(name, _ServerDraft()), result, bool(entry.get("first")))

    def servers(self) -> tuple[Server, ...]:
        """All servers of the journal, those recorded as a whole first."""
        return (*self._complete.values(), *(_server(name, draft) for name, draft in self._drafts.items()))

    def only_name(self) -> str | None:
        """The server's name where there is only one."""
        servers = self.servers()
        return servers[0].name if len(servers) == 1 and not self._complete else None


def _apply_identity(draft: _ServerDraft, result: dict[str, Any], protocol: str | None) -> None:
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None)
    draft.identity = info if isinstance(info, dict) else {}
    protocol_version = result.get("protocolVersion")
    draft.protocol = protocol_version if isinstance(protocol_version, str) else protocol


def _apply_tools(draft: _ServerDraft, result: dict[str, Any], first_page: bool) -> None:
    if first_page:
        draft.tools.clear()
    listed = result.get("tools")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            draft.tools[entry["name"]] = tool_of(entry["name"], entry)
    draft.listed = True


def _server(name: str | None, draft: _ServerDraft) -> Server:
    title, version = _text(draft.identity.get("name")), _text(draft.identity.get("version"))
    tools = tuple(draft.tools.values())
    return Server(
        name=name or title or DEFAULT_SERVER_NAME,
        title=title,
        version=version,
        protocol=draft.protocol,
        tools=tools,
        digest=digest_of(title, version, tools) if draft.listed else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
