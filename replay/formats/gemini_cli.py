"""Gemini CLI: its chat files, as one object with `sessionId` and `messages` or as JSON Lines, the history that `/chat
save` keeps (contents of the Gemini API), and the events of `--output-format stream-json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.formats.call_log import CallLog, seconds_between
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import MISSING, as_object, first_of, joined_text, object_in, objects, text_of
from replay.formats.record_builders import build_call, result_with_flag
from replay.records import Call, JsonObject, Trajectory

_MESSAGE_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_STREAM_TYPES = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})
BUILT_IN = frozenset({
    "activate_skill", "ask_user", "cli_help", "codebase_investigator", "complete_task", "delegate_to_agent",
    "edit", "enter_plan_mode", "exit_plan_mode", "generalist", "get_internal_docs", "glob", "google_web_search",
    "grep_search", "list_directory", "read_file", "read_many_files", "replace", "run_shell_command", "save_memory",
    "search_file_content", "web_fetch", "write_file", "write_todos",
})  # fmt: skip
"""The tools that Gemini CLI brings."""

_SHOWN_SERVER = re.compile(r"^(?P<tool>.+) \((?P<server>[^()]+) MCP Server\)$")


class GeminiCliReader:
    """Reads Gemini CLI chats."""

    name = "gemini-cli"
    title = "Gemini CLI chats"
    expected_shape = 'a Gemini CLI chat ({"sessionId", "projectHash", "messages": [{"type": "gemini"}]})'

    def sniff(self, head: Head) -> Match:
        """The two ids, and messages without a role; or contents with function calls; or events with a tool's id."""
        records = head.objects
        if _is_chat(head.first):
            return Match(0.95, '"sessionId", "projectHash" and "messages"')
        if any(map(is_meta, records)) and any(map(is_message, records)):
            return Match(0.95, 'lines with "sessionId" and "projectHash", then messages')
        if any(map(is_event, records)):
            return Match(0.9, 'events with "tool_name" and "tool_id"')
        if any(record.get("type") == "init" and {"session_id", "model"} <= record.keys() for record in records):
            return Match(0.7, 'an event "init" with "session_id" and "model"')
        if any(map(is_meta, records)):
            return Match(0.7, '"sessionId" and "projectHash"')
        contents = [content for record in records for content in contents_in(record)]
        return Match(0.8, "contents of the Gemini API") if any(map(has_parts, contents)) else NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a chat."""
        lines = ChatLines()
        contents: list[JsonObject] = []
        for element in document.objects():
            value = element.value
            if _is_chat(value):
                yield _log_of(value, element.place).trajectory(document, self.name)
            elif lines.read(value):
                continue
            elif found := contents_in(value):
                contents += found
            elif not is_stream_event(value):
                document.leave(element)
        if lines.about or lines.messages:
            name = lines.about.get("sessionId") or document.task_name
            chat = {**lines.about, "sessionId": name, "messages": list(lines.messages.values())}
            yield _log_of(chat).trajectory(document, self.name)
        if contents:
            chat = {"sessionId": document.task_name, "messages": messages_of(contents)}
            yield _log_of(chat).trajectory(document, self.name)


def _is_chat(value: JsonObject) -> bool:
    dated = {"projectHash", "lastUpdated", "startTime"} & value.keys()
    return {"sessionId", "messages"} <= value.keys() and bool(dated)


def is_meta(value: JsonObject) -> bool:
    """The first line of a chat in JSON Lines: which session it is."""
    return {"sessionId", "projectHash"} <= value.keys() and "messages" not in value


def is_message(value: JsonObject) -> bool:
    """A line with one message; a changed message is written again under its id."""
    return str(value.get("type")) in _MESSAGE_TYPES and {"id", "timestamp", "content"} <= value.keys()


def is_event(value: JsonObject) -> bool:
    """A call or an answer among the events of `--output-format stream-json`."""
    return value.get("type") in ("tool_use", "tool_result") and isinstance(value.get("tool_id"), str)


def is_stream_event(value: JsonObject) -> bool:
    """Any of those events."""
    return str(value.get("type")) in _STREAM_TYPES


def contents_in(value: JsonObject) -> list[JsonObject]:
    """The contents of the Gemini API that a record is or holds: a saved history, a request."""
    if has_parts(value):
        return [value]
    found = objects(first_of(value, "clientHistory", "history", "contents"))
    return found if any(map(has_parts, found)) else []


def has_parts(value: JsonObject) -> bool:
    """Whether it is a content of the Gemini API."""
    return value.get("role") in ("user", "model", "function") and isinstance(value.get("parts"), list)


def _log_of(chat: JsonObject, place: str = "$") -> CallLog:
    log = CallLog(place, str(chat["sessionId"]))
    log.started_at = text_of(chat.get("startTime"))
    for number, message in enumerate(objects(chat["messages"])):
        text = joined_text(message.get("content"))
        if message.get("type") == "user":
            log.ask(text)
        if message.get("type") != "gemini":
            continue
        log.model = text_of(message.get("model")) or log.model
        log.say(text)
        tokens = object_in(message, "tokens")
        log.count_tokens(tokens.get("input"), tokens.get("output"))
        for written in objects(message.get("toolCalls")):
            log.add(_call(written, log.started_at), number, model=log.model)
    return log


def _call(written: JsonObject, started_at: str | None) -> Call:
    name, status = written.get("name", MISSING), written.get("status")
    shown = _SHOWN_SERVER.match(str(written.get("displayName")))
    fields = shown.groupdict() if shown else {}
    answer = None
    bodies = (object_in(part, "functionResponse").get("response") for part in objects(written.get("result")))
    body = next((body for body in bodies if isinstance(body, dict)), None)
    if body is not None:
        content = body.get("output", body.get("error", body))
        answer = result_with_flag(content, status in ("error", "cancelled") or "error" in body)
    return build_call(
        name,
        written.get("args", MISSING),
        id=text_of(written.get("id")),
        answer=answer,
        started=seconds_between(started_at, written.get("timestamp")),
        local=isinstance(name, str) and name in BUILT_IN,
        interrupted=status == "cancelled",
        **fields,
    )


class ChatLines:
    """Puts a chat together from its lines."""

    def __init__(self) -> None:
        self.about: JsonObject = {}
        self.messages: dict[str, JsonObject] = {}
        self._calls: dict[str, JsonObject] = {}
        self._started = False

    def read(self, line: JsonObject) -> bool:
        """Take in a line; whether it was one of a chat's."""
        if is_message(line):
            self.messages[str(line["id"])] = line
        elif is_meta(line):
            self.about = {**self.about, **line}
        elif isinstance(line.get("$set"), dict):
            self._set(line["$set"])
        elif "$rewindTo" in line:
            pass  # what was taken back was called all the same
        elif is_stream_event(line) and ("session_id" in line or self._started):
            self._started = True
            self._read_event(line)
        else:
            return False
        return True

    def _set(self, changes: JsonObject) -> None:
        messages = changes.get("messages")
        if isinstance(messages, list):
            self.messages = {str(message.get("id")): message for message in objects(messages)}
        self.about = {**self.about, **{key: value for key, value in changes.items() if key != "messages"}}

    def _read_event(self, event: JsonObject) -> None:
        kind, number = event.get("type"), str(len(self.messages))
        if kind == "init":
            self.about |= {"sessionId": event.get("session_id"), "startTime": event.get("timestamp")}
            self.about["model"] = event.get("model")
        elif kind == "message":
            role = "user" if event.get("role") == "user" else "gemini"
            self.messages[number] = {"type": role, "content": event.get("content")}
        elif kind == "tool_use":
            call = {"id": event.get("tool_id"), "name": event.get("tool_name"), "args": event.get("parameters")}
            call["timestamp"] = event.get("timestamp")
            self._calls[str(event.get("tool_id"))] = call
            self.messages[number] = {"type": "gemini", "toolCalls": [call], "model": self.about.get("model")}
        elif kind == "tool_result":
            call = self._calls.get(str(event.get("tool_id")), {})
            failed = event.get("status") == "error"
            error = object_in(event, "error")
            content = event.get("output") if event.get("output") is not None else error.get("message")
            call["status"] = "error" if failed else "success"
            call["result"] = [{"functionResponse": {"response": {"error" if failed else "output": content}}}]


def messages_of(contents: list[JsonObject]) -> list[JsonObject]:
    """The messages of a chat, out of contents of the Gemini API; an answer goes to the first call of its id or name."""
    messages: list[JsonObject] = []
    waiting: list[JsonObject] = []
    for content in contents:
        parts = objects(content.get("parts"))
        calls = []
        for part in parts:
            written = as_object(first_of(part, "functionCall", "function_call"))
            if written:
                calls.append({"id": written.get("id"), "name": written.get("name"), "args": written.get("args") or {}})
            response = as_object(first_of(part, "functionResponse", "function_response"))
            if response:
                _answer(waiting, response)
        waiting += calls
        texts = [part for part in parts if not part.get("thought")]
        role = "gemini" if content.get("role") == "model" else "user"
        messages.append({"type": role, "content": texts, "toolCalls": calls})
    return messages


def _answer(waiting: list[JsonObject], response: JsonObject) -> None:
    for call in waiting:
        known = response.get("id") is not None and call["id"] is not None
        if (call["id"] == response["id"]) if known else (call["name"] == response.get("name")):
            call["result"] = [{"functionResponse": response}]
            waiting.remove(call)
            return
