"""What came back from a call.

Three kinds of answer that are never mixed, and a fourth for recordings that kept only text.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from replay.json_values import known_json
from replay.records.base import JsonObject, Record


class ToolResult(Record):
    """A `CallToolResult` (MCP specification, Server Features / Tools): the tool ran, whatever it says of its luck."""

    kind: Literal["result"] = "result"
    content: tuple[JsonObject, ...] = ()
    """Content blocks as the server sent them: `{"type": "text", "text": ...}`, images, resources."""
    structured: Any = None
    """`structuredContent`, or None."""
    is_error: bool = False
    """`isError`."""


class RpcError(Record):
    """A JSON-RPC error object: the server answered, but with an error of the protocol."""

    kind: Literal["error"] = "error"
    code: int
    message: str
    data: Any = None


class TransportFault(Record):
    """No answer arrived. Never the model's doing."""

    kind: Literal["fault"] = "fault"
    fault: Literal["timeout", "closed", "not-started", "unreadable"]
    """`timeout`: none within the limit; `closed`: the connection ended first; `not-started`: the server never ran;
    `unreadable`: what arrived was not a valid answer."""
    message: str


class TextAnswer(Record):
    """What a recording kept where it kept only text (the wrapped blocks, error flag and kind are lost)."""

    kind: Literal["text"] = "text"
    text: str


Answer: TypeAlias = Annotated[ToolResult | RpcError | TransportFault | TextAnswer, Field(discriminator="kind")]


def blocks_of(answer: ToolResult | TextAnswer) -> tuple[JsonObject, ...]:
    """The content blocks of an answer.

    A recorded text that is itself the JSON of a content block, or of a list of them, is opened; any other text is one
    text block. Extra fields that a block carries (`error`, `annotations`) are kept.
    """
    if isinstance(answer, ToolResult):
        return answer.content
    opened = _open_blocks(answer.text)
    return opened if opened is not None else ({"type": "text", "text": answer.text},)


def texts_of(answer: Answer) -> tuple[str, ...]:
    """The text of each text block; of an error or a fault its message."""
    if isinstance(answer, RpcError | TransportFault):
        return (answer.message,)
    return tuple(str(block["text"]) for block in blocks_of(answer) if block.get("type") == "text" and "text" in block)


def _open_blocks(text: str) -> tuple[JsonObject, ...] | None:
    stripped = text.strip()
    if not stripped.startswith(("{", "[")) or '"type"' not in stripped:
        return None
    try:
        value = known_json(stripped)
    except ValueError:
        return None
    blocks = value if isinstance(value, list) else [value]
    return tuple(blocks) if blocks and all(map(_is_block, blocks)) else None


_BODY_OF_TYPE = {"text": "text", "image": "data", "audio": "data", "resource": "resource", "resource_link": "uri"}


def _is_block(value: object) -> bool:
    return isinstance(value, dict) and _BODY_OF_TYPE.get(str(value.get("type")), "") in value
