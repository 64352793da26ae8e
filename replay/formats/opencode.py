"""OpenCode: the events of `opencode run --format json` (JSON Lines), and `opencode export` (one object)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog, iso_time
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, as_number, as_object, object_in, objects, text_of
from replay.formats.record_builders import build_call, of_server, result_with_flag
from replay.records import Call, JsonObject, ParentCall, Trajectory

EVENT_TYPES = frozenset({"step_start", "tool_use", "text", "reasoning", "step_finish", "error"})

BUILT_IN = frozenset({
    "apply_patch", "bash", "batch", "codesearch", "edit", "glob", "grep", "invalid", "list", "lsp", "lsp_diagnostics",
    "lsp_hover", "multiedit", "patch", "plan_enter", "plan_exit", "question", "read", "skill", "task", "todoread",
    "todowrite", "webfetch", "websearch", "write",
})  # fmt: skip
"""The tools that OpenCode brings."""


class OpenCodeReader:
    """Reads OpenCode's events and exports."""

    name = "opencode"
    title = "OpenCode events and exports"
    expected_shape = 'OpenCode events ({"type": "tool_use", "sessionID", "part"}) or an export ({"info", "messages"})'

    def sniff(self, head: Head) -> Match:
        """Events with a part and a session, or an export."""
        if any(map(_is_event, head.objects)):
            return Match(0.95, 'events with "sessionID" and "part"')
        return Match(0.95, '"info" and "messages" with "parts"') if _is_export(head.first) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        sessions: dict[str, _Session] = {}
        for element in document.objects(lambda value: _is_export(value) or _is_event(value)):
            value = element.value
            if _is_export(value):
                yield _of_export(value, element.place).trajectory(document, self.name)
            else:
                identifier = str(value.get("sessionID"))
                sessions.setdefault(identifier, _Session(element.place, identifier)).read_event(value)
        for session in sessions.values():
            yield session.trajectory(document, self.name)


class _Session(CallLog):
    def __init__(self, place: str, identifier: str | None) -> None:
        super().__init__(place, identifier)
        self._began: float | None = None

    def begin(self, milliseconds: Any) -> None:
        """Note when it began, in milliseconds since 1970, unless that is known."""
        if self._began is None:
            self._began = _seconds(milliseconds)
            self.started_at = iso_time(self._began)

    def read_event(self, event: JsonObject) -> None:
        self.begin(event.get("timestamp"))
        part = object_in(event, "part")
        self.read_part(part, str(part.get("messageID")), None)

    def read_part(self, part: JsonObject, step: Any, model: str | None) -> None:
        kind = part.get("type")
        if kind == "tool":
            self.add(_call(part, self._began), step, model=model)
        elif kind == "text":
            self.say(text_of(part.get("text")))
        elif kind == "step-finish":
            tokens = object_in(part, "tokens")
            self.count_tokens(tokens.get("input"), tokens.get("output"), behind=True)


def _of_export(export: JsonObject, place: str) -> _Session:
    info = export["info"]
    session = _Session(place, str(info.get("id") or "") or None)
    session.begin(object_in(info, "time").get("created"))
    if parent := text_of(info.get("parentID")):
        session.parent = ParentCall(trajectory=parent)
    for number, message in enumerate(objects(export["messages"])):
        about = as_object(message.get("info"))
        if about is None:
            continue
        model = text_of(about.get("modelID"))
        session.model = session.model or model
        for part in objects(message.get("parts")):
            if about.get("role") == "user":
                session.ask(text_of(part.get("text")))
            else:
                session.read_part(part, ("message", number), model)
    return session


def _seconds(milliseconds: Any) -> float | None:
    number = as_number(milliseconds)
    return None if number is None else number / 1000


def _is_event(value: JsonObject) -> bool:
    kind = text_of(value.get("type"))
    return kind in EVENT_TYPES and "sessionID" in value and (isinstance(value.get("part"), dict) or kind == "error")


def _is_export(value: JsonObject) -> bool:
    messages = value.get("messages")
    if not isinstance(value.get("info"), dict) or not isinstance(messages, list):
        return False
    return not messages or any("info" in message and "parts" in message for message in objects(messages))


def _call(part: JsonObject, session_start: float | None) -> Call:
    """A call. MCP tools are `SERVER_TOOL`: the first word is taken for the server until a fleet's names tell."""
    state = object_in(part, "state")
    name, status = part.get("tool", MISSING), state.get("status")
    answer = None
    if status == "completed":
        answer = result_with_flag(state.get("output"), is_error=False)
    elif status == "error":
        answer = result_with_flag(state.get("error", state.get("output")), is_error=True)
    time = object_in(state, "time")
    begin, end = _seconds(time.get("start")), _seconds(time.get("end"))
    local = isinstance(name, str) and name in BUILT_IN
    server, _, tool = (text_of(name) or "").partition("_")
    aborted = status == "error" and str(state.get("error")).startswith(("Tool execution aborted", "The user rejected"))
    return build_call(
        name,
        state.get("input", MISSING),
        id=text_of(part.get("callID")),
        answer=answer,
        started=begin - session_start if begin and session_start and begin >= session_start else None,
        seconds=end - begin if begin and end and end >= begin else None,
        local=local,
        interrupted=aborted,
        **({} if local else of_server(server, tool)),
    )
