"""Sessions of pi and of what is built on it, and session traces of the Hugging Face Hub: a message a line.

Both begin with `{type: session, id}`. pi's messages have calls as content blocks (`{type: toolCall, id, name,
arguments}`) and answers as messages of the role `toolResult`; the Hub's (`harness` in the first line) have `toolCalls`.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import CallLog, iso_time, seconds_between, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import joined_text, object_in, objects, sum_of, text_of
from replay.formats.record_builders import function_call, result_with_flag
from replay.records import JsonObject, Trajectory

_ANSWER_ROLES = ("toolResult", "tool")


class PiReader:
    """Reads pi's sessions."""

    name = "pi"
    title = "pi sessions and session traces of the Hugging Face Hub"
    expected_shape = 'pi lines ({"type": "session", "id"} and {"type": "message", "message"})'

    def sniff(self, head: Head) -> Match:
        """The header, or a message with a call or an answer in its words."""
        if any(map(_is_header, head.objects)):
            return Match(0.96, '"type": "session" with "id"')
        messages = [record["message"] for record in head.objects if _is_message(record)]
        blocks = {block.get("type") for message in messages for block in objects(message.get("content"))}
        answered = any("toolCalls" in message or message.get("role") == "toolResult" for message in messages)
        if "toolCall" in blocks or answered:
            return Match(0.95, "messages with toolCall blocks or toolResult messages")
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        sessions: list[CallLog] = []
        for element in document.objects(lambda line: isinstance(line.get("type"), str)):
            if not sessions or _is_header(element.value):
                sessions.append(CallLog(element.place))
            _read(element.value, sessions[-1])
        for session in sessions:
            yield session.trajectory(document, self.name)


def _is_header(line: JsonObject) -> bool:
    named = line.get("type") == "session" and isinstance(line.get("id"), str)
    return named and bool({"cwd", "harness"} & line.keys())


def _is_message(line: JsonObject) -> bool:
    return line.get("type") == "message" and isinstance(line.get("message"), dict)


def _read(line: JsonObject, log: CallLog) -> None:
    time = line.get("timestamp")
    if _is_header(line):
        log.identifier, log.title, log.started_at = line["id"], text_of(line.get("name")), text_of(time)
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
        _read_reply(message, text, seconds_between(log.started_at, time), log)
    elif role in _ANSWER_ROLES:
        content = message.get("content")
        answer = result_with_flag("" if content is None else content, message.get("isError"))
        log.answer(text_of(message.get("toolCallId")), answer, name=text_of(message.get("toolName")))


def _read_reply(message: JsonObject, text: str | None, started: float | None, log: CallLog) -> None:
    usage = object_in(message, "usage")
    log.count_tokens(sum_of(usage, "input", "cacheRead", "cacheWrite"), usage.get("output"))
    model = text_of(message.get("model")) or log.model
    log.model = log.model or model
    log.say(text)
    blocks = [block for block in objects(message.get("content")) if block.get("type") == "toolCall"]
    reply = object()
    for written in (*blocks, *objects(message.get("toolCalls"))):
        log.add(function_call(written, local=True, started=started), reply, model=model)
