"""What Gemini CLI writes a line at a time, and contents of the Gemini API, made into the messages of a chat file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.loose_json import first_of, objects
from replay.formats.record_builders import as_object
from replay.records import JsonObject

_MESSAGE_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_STREAM_TYPES = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


def is_meta(value: JsonObject) -> bool:
    """The first line of a chat in JSON Lines: which session it is."""
    return {"sessionId", "projectHash"} <= value.keys() and "messages" not in value


def is_message(value: JsonObject) -> bool:
    """A line with one message; a changed message is written again under its id."""
    return str(value.get("type")) in _MESSAGE_TYPES and {"id", "timestamp", "content"} <= value.keys()


def is_event(value: JsonObject) -> bool:
    """A call or an answer among the events of `--output-format stream-json`."""
    return value.get("type") in ("tool_use", "tool_result") and isinstance(value.get("tool_id"), str)


def is_stream_event(value: Any) -> bool:
    """Any of those events."""
    return isinstance(value, dict) and str(value.get("type")) in _STREAM_TYPES


def contents_in(value: Any) -> list[JsonObject]:
    """The contents of the Gemini API that a record is or holds: a saved history, a request."""
    if not isinstance(value, dict):
        return []
    if has_parts(value):
        return [value]
    found = objects(first_of(value, "clientHistory", "history", "contents"))
    return found if any(map(has_parts, found)) else []


def has_parts(value: JsonObject) -> bool:
    """Whether it is a content of the Gemini API."""
    return value.get("role") in ("user", "model", "function") and isinstance(value.get("parts"), list)


class ChatLines:
    """Puts a chat together from its lines."""

    def __init__(self) -> None:
        self._about: JsonObject = {}
        self._messages: dict[str, JsonObject] = {}
        self._calls: dict[str, JsonObject] = {}
        self._started = False

    def read(self, line: JsonObject) -> bool:
        """Take in a line; whether it was one of a chat's."""
        if is_message(line):
            self._messages[str(line["id"])] = line
        elif is_meta(line):
            self._about = {**self._about, **line}
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
            self._messages = {str(message.get("id")): message for message in objects(messages)}
        self._about = {**self._about, **{key: value for key, value in changes.items() if key != "messages"}}

    def _read_event(self, event: JsonObject) -> None:
        kind, number = event.get("type"), str(len(self._messages))
        if kind == "init":
            self._about |= {"sessionId": event.get("session_id"), "startTime": event.get("timestamp")}
            self._about["model"] = event.get("model")
        elif kind == "message":
            role = "user" if event.get("role") == "user" else "gemini"
            self._messages[number] = {"type": role, "content": event.get("content")}
        elif kind == "tool_use":
            call = {"id": event.get("tool_id"), "name": event.get("tool_name"), "args": event.get("parameters")}
            call["timestamp"] = event.get("timestamp")
            self._calls[str(event.get("tool_id"))] = call
            self._messages[number] = {"type": "gemini", "toolCalls": [call], "model": self._about.get("model")}
        elif kind == "tool_result":
            call = self._calls.get(str(event.get("tool_id")), {})
            failed = event.get("status") == "error"
            error = as_object(event.get("error")) or {}
            content = event.get("output") if event.get("output") is not None else error.get("message")
            call["status"] = "error" if failed else "success"
            call["result"] = [{"functionResponse": {"response": {"error" if failed else "output": content}}}]

    def chats(self, name: str) -> Iterator[JsonObject]:
        """The chat, if there was one."""
        if self._about or self._messages:
            about = {**self._about, "messages": list(self._messages.values())}
            about["sessionId"] = self._about.get("sessionId") or name
            yield about


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
