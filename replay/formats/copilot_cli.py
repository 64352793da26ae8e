"""GitHub Copilot CLI session events: JSON Lines of `{type, data, id, timestamp, parentId}`."""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, object_in, objects, text_of
from replay.formats.record_builders import build_call, json_text_call, result_with_flag
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
        events = list(filter(_is_event, head.objects))
        if not events or len(events) * 2 < len(head.records):
            return NO_MATCH
        if any(event["type"] == "session.start" for event in events):
            return Match(0.95, 'an event "session.start", events with "data" and "parentId"')
        return Match(0.75, 'events with "data" and "parentId"')

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """The session; where several stand one after the other, each."""
        sessions: list[CallLog] = []
        for element in document.objects(_is_event):
            begins = element.value["type"] == "session.start"
            if not sessions or (begins and sessions[-1].identifier is not None):
                sessions.append(CallLog(element.place))
            _read(element.value, sessions[-1])
        for session in sessions:
            yield session.trajectory(document, self.name)


def _is_event(value: JsonObject) -> bool:
    typed = isinstance(value.get("type"), str) and isinstance(value.get("data"), dict)
    return typed and {"id", "timestamp"} <= value.keys()


def _read(event: JsonObject, log: CallLog) -> None:
    kind, data = event["type"], event["data"]
    if kind == "session.start":
        log.identifier = str(data.get("sessionId"))
        log.started_at = text_of(data.get("startTime"))
    elif kind == "session.model_change" and isinstance(data.get("newModel"), str):
        log.model = data["newModel"]
    elif kind == "user.message" and isinstance(data.get("content"), str):
        log.ask(data["content"])
    elif kind == "assistant.message":
        log.model = text_of(data.get("model")) or log.model
        log.say(text_of(data.get("content")))
        log.count_tokens(None, data.get("outputTokens"))
        started = seconds_between(log.started_at, event.get("timestamp"))
        for request in objects(data.get("toolRequests")):
            log.add(_call(request, started), str(event.get("id") or data.get("messageId")), model=log.model)
    elif kind == "tool.execution_start" and isinstance(data.get("mcpServerName"), str):
        tool = data.get("mcpToolName") or data.get("toolName")
        log.change(str(data.get("toolCallId")), server=data["mcpServerName"], tool=tool, local=False)
    elif kind == "tool.execution_complete":
        _read_answer(data, log)


def _read_answer(data: JsonObject, log: CallLog) -> None:
    result, error, success = data.get("result"), data.get("error"), data.get("success")
    content = result.get("content") if isinstance(result, dict) else result
    if content is None:
        content = error if isinstance(error, str) else object_in(error).get("message")
    answer = result_with_flag(content, not success if isinstance(success, bool) else None)
    interrupted = str(object_in(error).get("code")).lower() in _REFUSALS
    log.answer(text_of(data.get("toolCallId")), answer, interrupted=interrupted)


def _call(request: JsonObject, started: float | None) -> Call:
    name, arguments = request.get("name"), request.get("arguments", MISSING)
    identifier, local = text_of(request.get("toolCallId")), isinstance(name, str) and name in BUILT_IN
    if isinstance(arguments, str):
        call = json_text_call(name, arguments, id=identifier, started=started, local=local)
        return call.model_copy(update={"unreadable": None}) if local and call.unreadable == "arguments" else call
    return build_call(name, arguments, id=identifier, started=started, local=local)
