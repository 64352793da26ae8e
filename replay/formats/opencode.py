"""OpenCode: the events of `opencode run --format json` (JSON Lines), and `opencode export` (one object)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, as_number, object_in, objects, text_of
from replay.formats.record_builders import build_call, of_server, result_with_flag
from replay.formats.times import iso_time
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
        if any(_is_event(record) for record in head.records):
            return Match(0.95, 'events with "sessionID" and "part"')
        return Match(0.95, '"info" and "messages" with "parts"') if _is_export(head.first) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        sessions: dict[str, _Session] = {}
        for element in document.records():
            value = element.value
            if _is_export(value):
                session = _Session(element.place)
                session.read_export(value)
                yield session.trajectory(str(value["info"].get("id") or document.task_name), document)
            elif _is_event(value):
                sessions.setdefault(str(value.get("sessionID")), _Session(element.place)).read_event(value)
            else:
                document.leave(element)
        for identifier, session in sessions.items():
            yield session.trajectory(identifier, document)


class _Session:
    def __init__(self, place: str) -> None:
        self._place = place
        self._log = CallLog()
        self._started: float | None = None
        self._parent: str | None = None

    def read_event(self, event: JsonObject) -> None:
        """Take in one event."""
        if self._started is None:
            self._started = _seconds(event.get("timestamp"))
        part = event.get("part")
        if isinstance(part, dict):
            self._read_part(part, str(part.get("messageID")), None)

    def read_export(self, export: JsonObject) -> None:
        """Take in a whole session."""
        info = export["info"]
        self._parent = text_of(info.get("parentID"))
        created = info["time"].get("created") if isinstance(info.get("time"), dict) else None
        self._started = _seconds(created)
        for number, message in enumerate(export["messages"]):
            about = message.get("info") if isinstance(message, dict) else None
            if not isinstance(about, dict):
                continue
            model = text_of(about.get("modelID"))
            self._log.model = self._log.model or model
            for part in objects(message.get("parts")):
                if about.get("role") == "user":
                    self._log.ask(text_of(part.get("text")))
                else:
                    self._read_part(part, ("message", number), model)

    def _read_part(self, part: JsonObject, step: Any, model: str | None) -> None:
        kind = part.get("type")
        if kind == "tool":
            self._log.add(_call(part, self._started), step, model=model)
        elif kind == "text" and isinstance(part.get("text"), str):
            self._log.say(part["text"])
        elif kind == "step-finish" and isinstance(part.get("tokens"), dict):
            self._log.count_tokens(part["tokens"].get("input"), part["tokens"].get("output"), behind=True)

    def trajectory(self, identifier: str, document: Document) -> Trajectory:
        """What was read."""
        parent = ParentCall(trajectory=self._parent) if self._parent else None
        self._log.started_at = iso_time(self._started)
        return self._log.trajectory(document, OpenCodeReader.name, self._place, identifier, parent=parent)


def _seconds(milliseconds: Any) -> float | None:
    number = as_number(milliseconds)
    return None if number is None else number / 1000


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in EVENT_TYPES
        and "sessionID" in value
        and (isinstance(value.get("part"), dict) or value["type"] == "error")
    )


def _is_export(value: Any) -> bool:
    if not (
        isinstance(value, dict) and isinstance(value.get("info"), dict) and isinstance(value.get("messages"), list)
    ):
        return False
    return not value["messages"] or any(isinstance(m, dict) and "info" in m and "parts" in m for m in value["messages"])


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
    fields = {}
    if isinstance(name, str) and name not in BUILT_IN:
        server, _, tool = name.partition("_")
        fields = of_server(server, tool)
    aborted = status == "error" and str(state.get("error")).startswith(("Tool execution aborted", "The user rejected"))
    return build_call(
        name,
        state.get("input", MISSING),
        id=text_of(part.get("callID")),
        answer=answer,
        started=begin - session_start if begin and session_start and begin >= session_start else None,
        seconds=end - begin if begin and end and end >= begin else None,
        local=isinstance(name, str) and name in BUILT_IN,
        interrupted=aborted,
        **fields,
    )
