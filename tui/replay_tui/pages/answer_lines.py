"""An answer as lines of text: JSON indented, images named with type and size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from replay.records import Answer, JsonObject, RpcError, TransportFault, blocks_of
from replay_tui.pages.json_lines import json_lines

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
