"""GitHub Copilot CLI session events: JSON Lines of `{type, data, id, timestamp, parentId}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Element, Head, Match
from replay.formats.fields import MISSING, objects, text_of
from replay.formats.record_builders import build_call, json_text_call, result_with_flag
from replay.formats.times import seconds_between
from replay.records import Call, JsonObject, Trajectory

BUILT_IN = frozenset({
    "apply_patch", "ask_user", "bash", "create", "edit", "exit_plan_mode", "fetch_copilot_cli_documentation", "glob",
    "grep", "list_agents", "list_bash", "list_powershell", "powershell", "read_agent", "read_bash", "read_powershell",
    "report_intent", "rg", "show_file", "skill", "sql", "stop_bash", "stop_powershell", "store_memory",
    "str_replace_editor", "task", "task_complete", "update_todo", "view", "web_fetch", "web_search", "write_bash",
    "write_powershell",
})  # fmt: skip
"""The tools that Copilot CLI brings."""

_REFUSALS = frozenset({"denied", "rejected", "cancelled", "canceled", "aborted", "interrupted"})


class CopilotCliReader:
    """Reads Copilot CLI sessions."""

    name = "copilot-cli"
    title = "GitHub Copilot CLI sessions"
    expected_shape = 'Copilot CLI events ({"type": "session.start", "data", "id", "timestamp", "parentId"})'

    def sniff(self, head: Head) -> Match:
        """Events; the first one names its producer."""
        events = [record for record in head.records if _is_event(record)]
        if not events or len(events) * 2 < len(head.records):
            return NO_MATCH
        if any(event["type"] == "session.start" for event in events):
            return Match(0.95, 'an event "session.start", events with "data" and "parentId"')
        return Match(0.75, 'events with "data" and "parentId"')

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """The session; where several stand one after the other, each."""
        session: _Session | None = None
        for element in document.matching(_is_event):
            if session is None or (element.value["type"] == "session.start" and session.id is not None):
                if session:
                    yield session.trajectory(document)
                session = _Session(element)
            session.read(element.value)
        if session:
            yield session.trajectory(document)


class _Session:
    def __init__(self, first: Element) -> None:
        self.id: str | None = None
        self._place = first.place
        self._log = CallLog()

    def read(self, event: JsonObject) -> None:
        """Take in one event."""
        kind, data = event["type"], event["data"]
        if kind == "session.start":
            self.id = str(data.get("sessionId"))
            self._log.started_at = text_of(data.get("startTime"))
        elif kind == "session.model_change" and isinstance(data.get("newModel"), str):
            self._log.model = data["newModel"]
        elif kind == "user.message" and isinstance(data.get("content"), str):
            self._log.ask(data["content"])
        elif kind == "assistant.message":
            self._read_message(event, data)
        elif kind == "tool.execution_start" and isinstance(data.get("mcpServerName"), str):
            tool = data.get("mcpToolName") or data.get("toolName")
            self._log.change(str(data.get("toolCallId")), server=data["mcpServerName"], tool=tool, local=False)
        elif kind == "tool.execution_complete":
            self._read_answer(data)

    def _read_message(self, event: JsonObject, data: JsonObject) -> None:
        self._log.model = text_of(data.get("model")) or self._log.model
        self._log.say(text_of(data.get("content")))
        self._log.count_tokens(None, data.get("outputTokens"))
        started = seconds_between(self._log.started_at, event.get("timestamp"))
        for request in objects(data.get("toolRequests")):
            self._log.add(_call(request, started), str(event.get("id") or data.get("messageId")), model=self._log.model)

    def _read_answer(self, data: JsonObject) -> None:
        result, error = data.get("result"), data.get("error")
        content = result.get("content") if isinstance(result, dict) else result
        code = None
        if isinstance(error, dict):
            code = error.get("code")
            content = error.get("message") if content is None else content
        elif isinstance(error, str) and content is None:
            content = error
        success = data.get("success")
        answer = result_with_flag(content, not success if isinstance(success, bool) else None)
        interrupted = isinstance(code, str) and code.lower() in _REFUSALS
        self._log.answer(text_of(data.get("toolCallId")), answer, interrupted=interrupted)

    def trajectory(self, document: Document) -> Trajectory:
        """What was read."""
        return self._log.trajectory(document, CopilotCliReader.name, self._place, self.id)


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and isinstance(value.get("data"), dict)
        and {"id", "timestamp"} <= value.keys()
    )


def _call(request: JsonObject, started: float | None) -> Call:
    name, arguments = request.get("name"), request.get("arguments", MISSING)
    identifier, local = text_of(request.get("toolCallId")), isinstance(name, str) and name in BUILT_IN
    if isinstance(arguments, str):
        call = json_text_call(name, arguments, id=identifier, started=started, local=local)
        return call.model_copy(update={"unreadable": None}) if local and call.unreadable == "arguments" else call
    return build_call(name, arguments, id=identifier, started=started, local=local)
