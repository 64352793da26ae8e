"""What stands around an answer's content: opened layer by layer, from the outside in, by structure and never by luck.

An envelope is a whole `CallToolResult` or a list of content blocks as JSON or as a Python repr, a JSON string, a code
fence, a tag, a heading, or a short label. The flag nearest to the content counts: an inner `isError` overrules an
outer one, and a label that says "error" inside a result that says it went well is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from replay.outcomes.envelopes.heads import BLOCK_BODIES, FLAGS, looks_like_json_envelope, looks_like_repr
from replay.outcomes.envelopes.labels import Label, label_of
from replay.outcomes.envelopes.literals import CLASS, load_cut_json, load_json, load_repr
from replay.records import EnvelopeKind, EnvelopeLayer, JsonObject, TextAnswer, ToolResult, blocks_of

MAX_LAYERS = 16
MAX_OPENED = 200_000_000
"""Characters that are looked at for one answer, over all layers."""

_STRUCTURED = ("structuredContent", "structured_content")
_RESULT_FIELDS = frozenset(
    ("content", *_STRUCTURED, *FLAGS, "meta", "_meta", "resultType", "result_type", "annotations", "type", "role", "id")
) | {
    CLASS,
    "data",
    "tool_use_id",
    "toolUseId",
    "tool_call_id",
    "call_id",
    "name",
    "status",
    "artifact",
    "additional_kwargs",
    "response_metadata",
}
_CALL_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id")
"""The field of a message that answers a call: its content is the answer, though it be a bare string."""
_CARRIERS = frozenset(("result", "output", "response", "content", "tool_result", "toolResult", "tool_output"))
_BESIDE_A_CARRIER = frozenset(("jsonrpc", "id", "meta", "_meta", *FLAGS, CLASS))
_TEXT_FIELDS = ("text", "output", "result", "message")


class OpenedAnswer(NamedTuple):
    """An answer without its envelopes."""

    pieces: tuple[str, ...]
    """The texts of the content."""
    flagged: bool
    """Whether the `isError` nearest to the content is true."""
    marked: bool
    """Whether the layer nearest to the content that says anything, in a flag or in words, says that it is an error."""
    has_media: bool = False
    structured: Any = None
    layers: tuple[EnvelopeLayer, ...] = ()
    """What was peeled off, from the outside in; empty where the content came in nothing but the answer itself."""
    only_label: str = ""
    """The label, where an error label is all there is."""


class _Content(NamedTuple):
    kind: EnvelopeKind
    pieces: tuple[str, ...]
    flag: bool | None = None
    has_media: bool = False
    structured: Any = None
    label: str | None = None
    marked: bool | None = None
    """As a harness marked the content blocks, or as a label says; overrules the flag."""


def open_answer(answer: ToolResult | TextAnswer) -> OpenedAnswer:
    """Peel every envelope off an answer.

    Args:
        answer: live, stored or recorded: they are opened alike.
    """
    if isinstance(answer, ToolResult):
        first = _of_blocks("result", answer.content, answer.is_error)
        return _open(first._replace(structured=answer.structured), own=first)
    return _open(_Content("result", (answer.text,)), own=None)


def as_it_came(answer: ToolResult | TextAnswer) -> OpenedAnswer:
    """An answer of which nothing but its own content blocks is opened."""
    content = _of_blocks("result", blocks_of(answer), isinstance(answer, ToolResult) and answer.is_error)
    structured = answer.structured if isinstance(answer, ToolResult) else None
    marked = content.flag is True or content.marked is True
    return OpenedAnswer(content.pieces, content.flag is True, marked, content.has_media, structured)


def _open(content: _Content, own: _Content | None) -> OpenedAnswer:
    layers: list[EnvelopeLayer] = []
    flag, marked, label = content.flag, _says(content), ""
    budget = MAX_OPENED
    for _ in range(MAX_LAYERS):
        if not content.pieces or budget < 0:
            break
        budget -= len(content.pieces[0])
        inner = _next(content)
        if inner is None:
            break
        says = _says(inner)
        if own is not None and not layers:
            layers.append(EnvelopeLayer(kind="result", flag=own.flag))
        layers.append(EnvelopeLayer(kind=inner.kind, flag=says, label=inner.label))
        flag = inner.flag if inner.flag is not None else flag
        marked = says if says is not None else marked
        label = inner.label or "" if inner.label and says else label
        content = inner._replace(has_media=inner.has_media or content.has_media)
    bare = not any(map(str.strip, content.pieces)) and not content.has_media and content.structured is None
    return OpenedAnswer(
        pieces=content.pieces,
        flagged=flag is True,
        marked=marked is True,
        has_media=content.has_media,
        structured=content.structured,
        layers=tuple(layers),
        only_label=label if bare and marked else "",
    )


def _next(content: _Content) -> _Content | None:
    """The content of the outermost envelope; None where there is none."""
    first, rest = content.pieces[0], content.pieces[1:]
    if not rest and not content.has_media:
        opened = _of_value(*_parse(first))
        if opened is not None:
            return opened
    label = label_of(first, alone=not rest)
    return _labelled(label, content) if label else None


def _labelled(label: Label, content: _Content) -> _Content:
    return content._replace(
        kind=label.kind, flag=None, marked=label.flag, label=label.text, pieces=(label.content, *content.pieces[1:])
    )


def _says(content: _Content) -> bool | None:
    return content.marked if content.marked is not None else content.flag


def _parse(text: str) -> tuple[Any, bool]:
    """The value that an envelope's text is, and whether it is a Python repr; None where it does not begin as one."""
    readers: list[tuple[Callable[[str], Any], bool]] = []
    if looks_like_json_envelope(text):
        readers += [(load_json, False), (load_cut_json, False)]
    if looks_like_repr(text):
        readers.append((load_repr, True))
    for read, is_repr in readers:
        with suppress(ValueError):
            return read(text), is_repr
    return None, False


def _of_value(value: Any, is_repr: bool) -> _Content | None:
    """What an envelope's value holds; None where the value is content of its own."""
    if isinstance(value, str):
        return None if is_repr else _Content("string", (value,))
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], list) and isinstance(value[1], dict):
        value = value[0]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and CLASS in value[0]:
        value = value[0] if not _is_block(value[0]) else value
    blocks = _blocks(value)
    if blocks:
        flags = [flag for flag in map(_flag_of, blocks) if flag is not None]
        return _of_blocks("repr" if is_repr else "blocks", blocks, (True in flags) if flags else None)
    return _of_result("repr" if is_repr else "result", value) if isinstance(value, dict) else None


def _of_result(kind: EnvelopeKind, value: JsonObject) -> _Content | None:
    """The content of a `CallToolResult`, of Anthropic's `tool_result`, or of what carries one."""
    flag = _flag_of(value)
    content = value.get("content")
    answers = any(key in value for key in _CALL_IDS)
    if answers and flag is None and value.get("status") == "error":
        flag = True
    if (
        set(value) <= _RESULT_FIELDS
        and ("content" in value)
        and (answers or flag is not None or not isinstance(content, str))
    ):
        structured = next((value[key] for key in _STRUCTURED if value.get(key) is not None), None)
        blocks = _blocks(content) or ((_text_block(content),) if isinstance(content, str) else None)
        if blocks:
            return _of_blocks(kind, blocks, flag)._replace(structured=structured)
        if content in ([], None) and (flag is not None or structured is not None):
            return _Content(kind, (), flag, structured=structured)
    return _of_carrier(kind, value, flag)


def _of_carrier(kind: EnvelopeKind, value: JsonObject, flag: bool | None) -> _Content | None:
    """The content of an object that has one field of substance, and that one an answer."""
    carriers = [key for key in value if key not in _BESIDE_A_CARRIER]
    if flag is not None and isinstance(value.get("text"), str):
        carriers = [key for key in carriers if value[key] not in ("", None, [], {}) and key != "data"]
    if len(carriers) != 1:
        return None
    if carriers[0] not in _CARRIERS and not (flag is not None and carriers[0] in _TEXT_FIELDS):
        return None
    inner = value[carriers[0]]
    blocks = _blocks(inner)
    if blocks:
        return _of_blocks(kind, blocks, flag)
    if isinstance(inner, dict):
        opened = _of_result(kind, inner)
        return opened._replace(flag=opened.flag if opened.flag is not None else flag) if opened else None
    if isinstance(inner, str) and (flag is not None or looks_like_json_envelope(inner) or looks_like_repr(inner)):
        return _Content(kind, (inner,), flag)
    return None


def _of_blocks(kind: EnvelopeKind, blocks: Sequence[JsonObject], flag: bool | None) -> _Content:
    pieces = tuple(str(block["text"]) for block in blocks if _is_text(block))
    marks = [block["error"] for block in blocks if isinstance(block.get("error"), bool)]
    return _Content(
        kind=kind,
        pieces=pieces,
        flag=flag,
        has_media=any(not _is_text(block) for block in blocks),
        marked=True if True in marks else None,
    )


def _blocks(value: Any) -> tuple[JsonObject, ...] | None:
    """The content blocks that a value is: a list of them, or one alone."""
    found = value if isinstance(value, list) else [value]
    if not found or not all(map(_is_block, found)) or (found == [value] and list(value) == ["text"]):
        return None
    return tuple(found)


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if list(value) == ["text"] and isinstance(value["text"], str):
        return True
    if kind is None and CLASS in value:
        return isinstance(value.get("text"), str) and _flag_of(value) is None and "content" not in value
    return isinstance(kind, str) and BLOCK_BODIES.get(kind, "") in value


def _is_text(block: JsonObject) -> bool:
    return block.get("type", "text") in ("text", "input_text", "output_text") and "text" in block


def _text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _flag_of(value: JsonObject) -> bool | None:
    return next((value[key] for key in FLAGS if isinstance(value.get(key), bool)), None)
