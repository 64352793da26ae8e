"""JSON, indented, each line with the pointer of what stands on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from replay.dag.documents import join
from replay.records import Answer, JsonObject, RpcError, TransportFault, blocks_of


class JsonLine(NamedTuple):
    """One line."""

    text: str
    pointer: str
    opens: bool
    """Whether it is the first line of its value."""


def json_lines(value: Any) -> list[JsonLine]:
    """The value as `json.dumps(..., indent=2)` writes it, but short lists of plain values on one line."""
    return list(_lines(value, "", "", ""))


_SHORT = 72
"""Characters up to which a list of plain values stands on one line."""


def _lines(value: Any, pointer: str, indent: str, lead: str) -> Iterator[JsonLine]:
    text = "" if isinstance(value, dict | list) and value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        text = text or _on_one_line(value)
    if text:
        yield JsonLine(f"{indent}{lead}{text}", pointer, True)
        return
    left, right = "{}" if isinstance(value, dict) else "[]"
    members = list(value.items() if isinstance(value, dict) else enumerate(value))
    yield JsonLine(f"{indent}{lead}{left}", pointer, True)
    for number, (key, item) in enumerate(members, 1):
        name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(value, dict) else ""
        *inner, end = _lines(item, join(pointer, key), f"{indent}  ", name)
        yield from inner
        yield end._replace(text=f"{end.text},") if number < len(members) else end
    yield JsonLine(f"{indent}{right}", pointer, False)


def _on_one_line(values: list[Any]) -> str:
    if len(values) > _SHORT or any(isinstance(value, dict | list) for value in values):
        return ""
    text = json.dumps(values, ensure_ascii=False)
    return text if len(text) <= _SHORT else ""


_MAX_PARSED: Final = 200_000
"""Characters of a text that are tried as JSON; what is longer is shown as it is."""


def answer_lines(answer: Answer) -> list[str]:
    """All of an answer, not made safe yet: whoever writes the lines does that."""
    if isinstance(answer, RpcError):
        return [f"JSON-RPC error {answer.code}: {answer.message}", *_data_lines("data", answer.data)]
    if isinstance(answer, TransportFault):
        return [f"no answer ({answer.fault}): {answer.message}"]
    lines = ["isError: true"] if answer.kind == "result" and answer.is_error else []
    for block in blocks_of(answer):
        lines += _block_lines(block)
    if answer.kind == "result" and answer.structured is not None:
        lines += _data_lines("structuredContent", answer.structured)
    return lines or ["(empty)"]


def answer_kind(answer: Answer) -> str:
    """What it is, in two words."""
    names = {"result": "result", "error": "JSON-RPC error", "fault": "no answer", "text": "text only"}
    return names[answer.kind]


def _block_lines(block: JsonObject) -> Iterator[str]:
    kind = str(block.get("type"))
    if kind == "text":
        yield from text_lines(str(block.get("text", "")))
    elif kind in {"image", "audio"}:
        yield f"[{kind} {block.get('mimeType', 'of unknown type')}, {_size(str(block.get('data', '')))}]"
    elif kind == "resource" and isinstance(block.get("resource"), dict):
        resource = block["resource"]
        yield f"[resource {resource.get('uri', '')} {resource.get('mimeType', '')}]"
        if "text" in resource:
            yield from text_lines(str(resource["text"]))
        elif "blob" in resource:
            yield f"[{_size(str(resource['blob']))}]"
    elif kind == "resource_link":
        yield f"[link {block.get('uri', '')} {block.get('name', '')}]"
    else:
        yield from _data_lines("block", block)


def text_lines(text: str) -> list[str]:
    """A text line by line; JSON is indented."""
    stripped = text.strip()
    if stripped.startswith(("{", "[")) and len(stripped) <= _MAX_PARSED:
        try:
            return [line.text for line in json_lines(json.loads(stripped))]
        except (ValueError, RecursionError):
            pass
    return text.split("\n")


def _data_lines(name: str, value: Any) -> list[str]:
    return [] if value is None else [f"{name}:", *(line.text for line in json_lines(value))]


def _size(base64: str) -> str:
    """Of what base64 stands for."""
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
