"""Sessions of pi and of what is built on it, and session traces of the Hugging Face Hub: a message a line.

Both begin with `{type: session, id}`. pi's messages have calls as content blocks (`{type: toolCall, id, name,
arguments}`) and answers as messages of the role `toolResult`; the Hub's (`harness` in the first line) have `toolCalls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.formats.call_log import CallLog
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import joined_text, object_in, objects, text_of
from replay.formats.record_builders import function_call, result_with_flag
from replay.formats.times import iso_time, seconds_between, seconds_of
from replay.records import JsonObject, Trajectory

_ANSWER_ROLES = ("toolResult", "tool")


class PiReader:
    """Reads pi's sessions."""

    name = "pi"
    title = "pi sessions and session traces of the Hugging Face Hub"
    expected_shape = 'pi lines ({"type": "session", "id"} and {"type": "message", "message"})'

    def sniff(self, head: Head) -> Match:
        """The header, or a message with a call or an answer in its words."""
        if any(map(_is_header, head.records)):
            return Match(0.96, '"type": "session" with "id"')
        messages = [record["message"] for record in head.records if _is_message(record)]
        blocks = {block.get("type") for message in messages for block in objects(message.get("content"))}
        answered = any("toolCalls" in message or message.get("role") == "toolResult" for message in messages)
        if "toolCall" in blocks or answered:
            return Match(0.95, "messages with toolCall blocks or toolResult messages")
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        session: _Session | None = None
        for element in document.matching(lambda record: isinstance(object_in(record).get("type"), str)):
            value = element.value
            if session is None or _is_header(value):
                if session is not None:
                    yield session.trajectory(document)
                session = _Session(element.place)
            session.read(value)
        if session is not None:
            yield session.trajectory(document)


def _is_header(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "session"
        and isinstance(value.get("id"), str)
        and bool({"cwd", "harness"} & value.keys())
    )


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "message" and isinstance(value.get("message"), dict)


class _Session:
    def __init__(self, place: str) -> None:
        self._place, self._log = place, CallLog()
        self._identifier: str | None = None
        self._title: str | None = None

    def trajectory(self, document: Document) -> Trajectory:
        """What was read."""
        if not self._log.first_prompt:
            self._log.ask(self._title)
        return self._log.trajectory(document, PiReader.name, self._place, self._identifier)

    def read(self, line: JsonObject) -> None:
        """Take in one line."""
        log, time = self._log, line.get("timestamp")
        if _is_header(line):
            self._identifier, self._title, log.started_at = line["id"], text_of(line.get("name")), text_of(time)
        if _is_header(line) or line.get("type") == "model_change":
            log.model = text_of(line.get("modelId")) or log.model
        if not _is_message(line):
            return
        message = line["message"]
        time = time or iso_time(seconds_of(message.get("timestamp")))
        role, text = message.get("role"), joined_text(message.get("content"))
        if role == "user":
            log.ask(text)
        elif role == "assistant":
            self._read_reply(message, text, seconds_between(log.started_at, time))
        elif role in _ANSWER_ROLES:
            content = message.get("content")
            answer = result_with_flag("" if content is None else content, message.get("isError"))
            log.answer(text_of(message.get("toolCallId")), answer, name=text_of(message.get("toolName")))

    def _read_reply(self, message: JsonObject, text: str | None, started: float | None) -> None:
        log, usage = self._log, object_in(message, "usage")
        reads = [usage[key] for key in ("input", "cacheRead", "cacheWrite") if isinstance(usage.get(key), int)]
        log.count_tokens(sum(reads) if reads else None, usage.get("output"))
        model = text_of(message.get("model")) or log.model
        log.model = log.model or model
        log.say(text)
        blocks = [block for block in objects(message.get("content")) if block.get("type") == "toolCall"]
        reply = object()
        for written in (*blocks, *objects(message.get("toolCalls"))):
            log.add(function_call(written, local=True, started=started), reply, model=model)
