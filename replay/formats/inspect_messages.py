"""The messages of one sample of an Inspect log, put together into steps."""

from __future__ import annotations

import re
from typing import Any

from replay.formats.harness_tools import INSPECT
from replay.formats.loose_json import answer_of, identifier_of, objects, text_of, with_mcp_server, written_call
from replay.formats.record_builders import as_object, build_call
from replay.records import Answer, Call, JsonObject, Step, TextAnswer, ToolResult

_PARSE_ERROR = re.compile(r"Error parsing the following tool call arguments:\n\n(.*)\n\nError details:", re.DOTALL)
_INTERRUPTIONS = frozenset({"approval", "limit"})
"""Errors of a tool message that say that the call was stopped, not that it failed."""

Times = dict[str, tuple[float | None, float | None]]


class SampleMessages:
    """What the messages of a sample say.

    Args:
        messages: chat messages, attachments resolved.
        times: when each call began and ended, in seconds since 1970, by its id.
        start: when the sample began.
    """

    def __init__(self, messages: list[JsonObject], times: Times, start: float | None) -> None:
        self._times, self._start = times, start
        self._waiting = [(index, item) for index, item in enumerate(messages) if item.get("role") == "tool"]
        self.steps: list[Step] = []
        self.reply: str | None = None
        questions = [_text(message.get("content")) for message in messages if message.get("role") == "user"]
        self.question = "\n\n".join(text for text in questions if text) or None
        for index, message in enumerate(messages):
            if message.get("role") == "assistant":
                self._add(message, index)

    def _add(self, message: JsonObject, index: int) -> None:
        text = _text(message.get("content")) or None
        calls = [self._call(written, index) for written in objects(message.get("tool_calls"))]
        calls = [*map(_provider_call, _tool_uses(message.get("content"))), *calls]
        if calls:
            self.steps.append(Step(calls=tuple(calls), text=text))
            self.reply = None
        else:
            self.reply = text or self.reply

    def _call(self, written: JsonObject, index: int) -> Call:
        answer, kind = self._take(identifier_of(written.get("id")), index)
        began, ended = self._times.get(str(written.get("id")), (None, None))
        name = written.get("function")
        fields: JsonObject = {
            "id": identifier_of(written.get("id")),
            "answer": answer,
            "interrupted": kind in _INTERRUPTIONS,
            "started": max(0.0, began - self._start) if began is not None and self._start is not None else None,
            "seconds": max(0.0, ended - began) if ended is not None and began is not None else None,
        }
        if text_of(written.get("parse_error")):
            return _unparsed(written, fields)
        return with_mcp_server(
            written_call(name, written.get("arguments"), **fields).model_copy(
                update={"local": isinstance(name, str) and (name in INSPECT or name.startswith("transfer_to_"))}
            )
        )

    def _take(self, identifier: str | None, index: int) -> tuple[Answer | None, str | None]:
        """The answer to a call of the message at `index`, and the kind of its error."""
        for place, (at, message) in enumerate(self._waiting):
            if at > index and identifier is not None and message.get("tool_call_id") == identifier:
                del self._waiting[place]
                return _answer(message)
        return None, None


def _unparsed(written: JsonObject, fields: JsonObject) -> Call:
    """A call whose arguments Inspect could not read; the model's text stands in what it said of them."""
    call = build_call(written.get("function"), {}, **fields)
    if call.unreadable is not None:
        return call
    match = _PARSE_ERROR.search(written["parse_error"])
    raw = match[1] if match else written["parse_error"]
    return call.model_copy(update={"arguments": None, "unreadable": "arguments", "raw": raw})


def _answer(message: JsonObject) -> tuple[Answer, str | None]:
    content = message.get("content")
    text = _text(content) or ""
    error = as_object(message.get("error"))
    if error is not None:
        answer = answer_of(text or text_of(error.get("message")) or "", is_error=True)
        return answer or TextAnswer(text=text), text_of(error.get("type"))
    blocks = objects(content)
    if blocks and not all(block.get("type") == "text" for block in blocks):
        return ToolResult(content=tuple(map(_block, blocks))), None
    return ToolResult(content=({"type": "text", "text": text},)), None


def _block(part: JsonObject) -> JsonObject:
    """A content part of Inspect as a content block of MCP."""
    image = part.get("image")
    if part.get("type") == "image" and isinstance(image, str) and image.startswith("data:"):
        kind, _, data = image.removeprefix("data:").partition(";base64,")
        return {"type": "image", "data": data, "mimeType": kind}
    return part


def _text(content: Any) -> str | None:
    if isinstance(content, str) or content is None:
        return content
    return "\n".join(
        part["text"] for part in objects(content) if part.get("type") == "text" and text_of(part.get("text"))
    )


def _tool_uses(content: Any) -> list[JsonObject]:
    return [part for part in objects(content) if part.get("type") == "tool_use"]


def _provider_call(part: JsonObject) -> Call:
    """A call that the model's provider carried out: of a remote MCP server, or of a tool of its own."""
    remote = part.get("tool_type") == "mcp_call"
    server, name = text_of(part.get("context")), text_of(part.get("name"))
    failed = part.get("error") is not None
    call = written_call(
        name,
        part.get("arguments"),
        id=identifier_of(part.get("id")),
        answer=answer_of(part.get("error") if failed else part.get("result"), is_error=failed),
    )
    return call.model_copy(
        update={"local": not remote, **({"server": server, "tool": name} if remote and server and name else {})}
    )
