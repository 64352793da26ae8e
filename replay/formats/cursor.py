"""Cursor's command line: what `cursor-agent -p --output-format stream-json` prints, and its saved transcripts.

A call is announced (`{type: tool_call, subtype: started, call_id, tool_call: {readToolCall: {args}}}`) and told once
more with its result. A transcript (`{role, message: {content: [{type: tool_use}]}}`) keeps no answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from replay.formats.call_log import CallLog, iso_time, seconds_of
from replay.formats.document import NO_MATCH, Document, Head, Match
from replay.formats.fields import first_of, joined_text, object_in, objects, text_of
from replay.formats.record_builders import build_call, error_answer, json_text_call, of_server, result_with_flag
from replay.formats.task_facts import usage_of
from replay.records import Answer, Call, JsonObject, Trajectory, Usage

_SUFFIX = "ToolCall"
_REFUSED = ("rejected", "permissionDenied")


class CursorReader:
    """Reads Cursor sessions."""

    name = "cursor"
    title = "Cursor sessions"
    expected_shape = 'Cursor lines ({"type": "tool_call", "call_id", "tool_call"} or {"role", "message": {"content"}})'

    def sniff(self, head: Head) -> Match:
        """Calls and thoughts as only Cursor prints them, or messages in its transcripts' shape."""
        if any(_is_call(record) or record.get("type") == "thinking" for record in head.objects):
            return Match(0.97, 'lines of the type "tool_call" or "thinking"')
        others = [record for record in head.objects if not _is_transcript_line(record)]
        messages = len(head.objects) == len(head.records) > len(others)
        if messages and all("message" not in record for record in others):
            return Match(0.9, 'lines with "role" and "message"')
        return NO_MATCH

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """One a session."""
        sessions: dict[str | None, _Session] = {}
        current: str | None = None
        for element in document.objects(_is_line):
            current = text_of(element.value.get("session_id")) or current
            if current not in sessions:
                sessions[current] = _Session(element.place, current)
            sessions[current].read(element.value)
        for session in sessions.values():
            yield session.trajectory(document, self.name, usage=session.usage)


def _is_line(line: JsonObject) -> bool:
    return isinstance(line.get("type"), str) or _is_transcript_line(line)


def _is_call(line: JsonObject) -> bool:
    return line.get("type") == "tool_call" and isinstance(line.get("tool_call"), dict)


def _is_transcript_line(line: JsonObject) -> bool:
    said = "type" not in line and line.get("role") in ("user", "assistant")
    return said and "content" in object_in(line, "message")


class _Session(CallLog):
    def __init__(self, place: str, identifier: str | None) -> None:
        super().__init__(place, identifier)
        self.usage: Usage | None = None
        self._first: float | None = None
        self._begun: dict[str, float | None] = {}
        """Of each call: when it began, in seconds since 1970."""

    def read(self, line: JsonObject) -> None:
        kind = line.get("type", line.get("role"))
        if _is_call(line):
            self._read_call(line)
        elif kind in ("user", "assistant"):
            self._read_message(str(kind), object_in(line, "message"), partial="timestamp_ms" in line)
        elif kind == "system":
            self.model = text_of(line.get("model")) or self.model
        elif kind == "result":
            counts = object_in(line, "usage")
            self.usage = usage_of(counts.get("inputTokens"), counts.get("outputTokens"))
            self.final_reply = text_of(line.get("result")) or self.final_reply

    def _read_message(self, role: str, message: JsonObject, *, partial: bool) -> None:
        text = joined_text(message.get("content"))
        if role == "user":
            self.ask(text)
            return
        if not partial:
            self.say(text)
        reply = object()
        for block in objects(message.get("content")):
            if block.get("type") in ("tool_use", "tool_call"):
                call = build_call(block.get("name"), block.get("input"), id=text_of(block.get("id")), local=True)
                self.add(call, reply)

    def _read_call(self, line: JsonObject) -> None:
        identifier, written = text_of(line.get("call_id")) or "", line["tool_call"]
        moment = seconds_of(line.get("timestamp_ms"))
        self._first = self._first or moment
        self.started_at = self.started_at or iso_time(moment)
        name, body = next(((key, value) for key, value in written.items() if isinstance(value, dict)), ("", {}))
        if identifier not in self._begun:
            started = moment - self._first if moment and self._first else None
            call = _call(name, body, identifier).model_copy(update={"started": started})
            self.add(call, text_of(line.get("model_call_id")), model=self.model)
            self._begun[identifier] = moment
        if line.get("subtype") == "completed":
            result = object_in(body, "result")
            begun = self._begun[identifier]
            seconds = moment - begun if moment and begun else None
            interrupted = any(key in result for key in _REFUSED)
            self.answer(identifier, _answer(result), interrupted=interrupted, seconds=seconds)


def _call(name: str, body: JsonObject, identifier: str) -> Call:
    """A call of a tool of Cursor's own, which is named by its key, or of an MCP server."""
    args = object_in(body, "args")
    if name == "function":
        return json_text_call(body.get("name"), body.get("arguments"), id=identifier, local=True)
    if name != "mcp" + _SUFFIX:
        return build_call(name.removesuffix(_SUFFIX), args, id=identifier, local=True)
    fields = of_server(first_of(args, "providerIdentifier", "serverIdentifier"), args.get("toolName"))
    given = first_of(args, "args", "arguments")
    return build_call(first_of(args, "name", "toolName"), {} if given is None else given, id=identifier, **fields)


def _answer(result: JsonObject) -> Answer | None:
    """The answer under `success`, `error` or another word for how it went."""
    if not result:
        return None
    outcome, value = next(iter(result.items()))
    body = object_in(value)
    if outcome != "success":
        return error_answer(first_of(body, "error", "errorMessage", "message", "reason") or value or outcome)
    blocks = objects(body.get("content"))
    flat = [{"type": "text", **text} if (text := object_in(block, "text")) else block for block in blocks]
    return result_with_flag(flat or value, body.get("isError") is True)
