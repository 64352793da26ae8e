"""What a server sent, as the record of an answer. Nothing is dropped because it breaks the specification."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from replay.interpreter.session.channel import Unreadable
from replay.interpreter.session.json_rpc import Closed, Failed, RpcReply
from replay.records import Answer, JsonObject, RpcError, ToolResult, TransportFault

_INTERNAL_ERROR: Final = -32603
_OF_THE_PROTOCOL: Final = frozenset({"_meta", "resultType", "isError"})

Note = Callable[[str], None]


def answer_of(reply: RpcReply, note: Note) -> Answer:
    """The answer to a tools/call."""
    if isinstance(reply, Closed):
        return TransportFault(fault="closed", message=f"{reply.why} before the answer came")
    if isinstance(reply, Unreadable):
        return TransportFault(fault="closed" if reply.lost else "unreadable", message=reply.why)
    if isinstance(reply, Failed):
        return _error_of(reply.error)
    if not isinstance(reply.result, dict):
        return TransportFault(fault="unreadable", message="the result is not a JSON object")
    if reply.result.get("resultType") == "input_required":
        return TransportFault(fault="unreadable", message="the server asks its user for input, which a replay has not")
    return _result_of(reply.result, note)


def _error_of(error: JsonObject) -> RpcError:
    code, message = error.get("code"), error.get("message")
    return RpcError(
        code=code if isinstance(code, int) else _INTERNAL_ERROR,
        message=message if isinstance(message, str) else json.dumps(error if message is None else message),
        data=error.get("data"),
    )


def _result_of(result: JsonObject, note: Note) -> ToolResult:
    structured = result.get("structuredContent")
    if "content" not in result and structured is None:
        note("answers a call without content")
        rest = {key: value for key, value in result.items() if key not in _OF_THE_PROTOCOL}
        structured = rest or None
    return ToolResult(
        content=_blocks_of(result.get("content"), note), structured=structured, is_error=bool(result.get("isError"))
    )


def _blocks_of(content: Any, note: Note) -> tuple[JsonObject, ...]:
    if content is None:
        return ()
    if not isinstance(content, list):
        note("answers a call with content that is not a list")
        content = [content]
    return tuple(_block_of(block, note) for block in content)


def _block_of(block: Any, note: Note) -> JsonObject:
    if isinstance(block, dict):
        return block
    note("answers a call with a content block that is not an object")
    return {"type": "text", "text": block if isinstance(block, str) else json.dumps(block)}
