"""What stands around an answer's content: opened layer by layer, from the outside in, by structure and never by luck.

An envelope of structure is a whole `CallToolResult`, a list of content blocks, or any object whose one field of
substance is one of them, as JSON or as a Python repr; a JSON string; or a stream of server-sent events. Those of words
are in `labels`. The flag nearest to the content counts: an inner `isError` overrules an outer one, and a label that
says "error" inside a result that says it went well is an error.

All expressions are linear: no nested repetition, every gap bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from replay.json_values import cut_json
from replay.outcomes.json_fields import CARRIERS, FINE_STATES, WRAPPING, is_nothing
from replay.outcomes.labels import Label, label_of
from replay.outcomes.literals import CLASS, MAX_JSON_LENGTH, MAX_SCANNED, last_event, load_json, load_repr
from replay.outcomes.residue import is_bare_wrapper
from replay.records import EnvelopeKind, EnvelopeLayer, JsonObject, TextAnswer, ToolResult, blocks_of

FLAGS = ("isError", "is_error", "iserror")

BLOCK_BODIES = {
    "image": "data",
    "audio": "data",
    "resource": "resource",
    "resource_link": "uri",
}
"""The type of a content block without text -> the field that holds what it carries."""
_OF_A_TEXT_BLOCK = frozenset(["text", "input", "output", "tool", "function", "result", "content", "message"])
"""What the type of a content block with text is made of: `text`, `input_text`, `tool_output`."""

_FIELD = (
    r"(?:_?meta|content|isError|is_error|structured_?[cC]ontent|type|text|result|output|response|jsonrpc|id|annotations"
    r"|role|tool_use_id|tool_?[rR]esult|tool_output|result_?[tT]ype)"
)
_JSON_HEAD = re.compile(rf"\s*(?:\[\s*)?\{{\s*\"{_FIELD}\"\s*:|\s*\"", re.DOTALL)
_ANY_OBJECT = re.compile(r"\s*(?:\[\s*)?(?:\{\s*)?\"")
"""Of a short text; a long one is parsed only where its first field is that of an envelope."""
_REPR_HEAD = re.compile(
    rf"\s*(?:\w{{1,60}}=|[\[(]{{0,3}}[A-Z]\w{{0,60}}\(\w{{1,60}}=|[\[(]{{0,2}}\{{'{_FIELD}':)", re.DOTALL
)
_REPR_FIELD = re.compile(r"\b(?:content|text|output|result|message|is_?[eE]rror)'?[=:]")
_HEAD = 4_000


def looks_like_json_envelope(text: str) -> bool:
    """Whether a text begins as the JSON of an envelope, or as a JSON string."""
    return (_ANY_OBJECT if len(text) <= MAX_JSON_LENGTH else _JSON_HEAD).match(text) is not None


def looks_like_repr(text: str) -> bool:
    """Whether a text begins as the Python repr of a result."""
    return _REPR_HEAD.match(text) is not None and _REPR_FIELD.search(text[:_HEAD]) is not None


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
_TEXT_FIELDS = ("text", "output", "result", "message", "content", "response", "data")


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
        pieces = tuple(map(_with_plain_spaces, first.pieces))
        return _open(first._replace(structured=answer.structured, pieces=pieces), own=first)
    return _open(_Content("result", (_with_plain_spaces(answer.text),)), own=None)


def _with_plain_spaces(text: str) -> str:
    """The text without a mark of its encoding, and with a plain space for each that no line breaks at."""
    return text if text.isascii() else text.removeprefix("\ufeff").replace("\u00a0", " ").replace("\u202f", " ")


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
    events = last_event(first) if not rest else None
    if events is not None:
        return content._replace(kind="label", flag=None, marked=None, label="data:", pieces=(events,))
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
    if looks_like_json_envelope(text):
        with suppress(ValueError):
            return load_json(text), False
        cut = cut_json(text[:MAX_SCANNED]) if text.lstrip()[:1] in "{[" and _JSON_HEAD.match(text) else None
        if cut is not None:
            return cut, False
    if looks_like_repr(text):
        with suppress(ValueError):
            return load_repr(text), True
    return None, False


def _of_value(value: Any, is_repr: bool) -> _Content | None:
    """What an envelope's value holds; None where the value is content of its own."""
    if isinstance(value, str):
        return None if is_repr else _Content("string", (value,))
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and len(value[0].split()) > 2:
        return _Content("string", (value[0],))
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
    """The content of an object that has one field of substance, and that one an answer: a record of a result."""
    if flag is None and isinstance(value.get("success"), bool):
        flag = not value["success"]
    fine = {key for key in ("status", "state") if str(value.get(key)).casefold() in FINE_STATES}
    left = [key for key, part in value.items() if key.casefold() not in WRAPPING | fine and not is_nothing(part)]
    if len(left) != 1 or not is_nothing(value.get("error")):
        return None
    carrier = left[0].casefold() in CARRIERS
    inner = value[left[0]] if carrier or is_bare_wrapper(value) else None
    blocks = _blocks(inner)
    if blocks:
        return _of_blocks(kind, blocks, flag)
    if isinstance(inner, dict):
        opened = _of_result(kind, inner)
        return opened._replace(flag=opened.flag if opened.flag is not None else flag) if opened else None
    if not isinstance(inner, str):
        return None
    own_flag = (flag is not None or fine) and left[0] in _TEXT_FIELDS
    if own_flag or (carrier and (_JSON_HEAD.match(inner) or looks_like_repr(inner))):
        return _Content(kind, (inner,), flag)
    return None


def _of_blocks(kind: EnvelopeKind, blocks: Sequence[JsonObject], flag: bool | None) -> _Content:
    pieces = tuple(text for block in blocks if (text := _text_of(block)) is not None)
    marks = [block["error"] for block in blocks if isinstance(block.get("error"), bool)]
    return _Content(
        kind=kind,
        pieces=pieces,
        flag=flag,
        has_media=len(pieces) < len(blocks),
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
    return isinstance(kind, str) and (_text_of(value) is not None or BLOCK_BODIES.get(kind, "") in value)


def _text_of(block: JsonObject) -> str | None:
    """The text of a content block; None where it carries something else."""
    kind = block.get("type", "text")
    if not isinstance(kind, str) or not set(kind.casefold().replace("-", "_").split("_")) <= _OF_A_TEXT_BLOCK:
        return None
    text = block.get("text", block.get("content") if "type" in block else None)
    return text if isinstance(text, str) else None


def _text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _flag_of(value: JsonObject) -> bool | None:
    return next((value[key] for key in FLAGS if isinstance(value.get(key), bool)), None)
