"""Recordings that a harness cut for length, in the middle of a text or of the JSON around it."""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["split_truncation_marker", "truncated_block_text"]

_MARKER: Final = re.compile(
    r"""\s*+(?:\.{3}|…)?+\s*+[(\[<*-]*+\s*+[^\n]{0,120}?
    (?:too\ long|truncat|only\ the\ first\ \d|characters?\ (?:omitted|remaining)|cut\ (?:off|short|for\ length)
    |more\ (?:characters|lines|bytes|tokens)\b|output\ omitted)
    [\s\S]{0,700}\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKER_WORDS: Final = (b"too long", b"truncat", b"only the first ", b"character", b"cut ", b"more ", b"output omitted")
"""One of them is in every marker."""
_SAME_AS_ASCII: Final = re.compile("[\u0130\u0131\u017f\u212a]")
"""Letters that count as ASCII ones in a pattern that ignores case."""
_ELLIPSIS: Final = re.compile(r"\s*+(?:\.{3}|…)\s*\Z")
_BLOCK_START: Final = re.compile(r'\s*+\[?+\s*+\{\s*+"type"\s*+:\s*+"text"\s*+,\s*+"text"\s*+:\s*+"')
_MAX_MARKER_LENGTH: Final = 900
"""A marker stands at the very end."""


def split_truncation_marker(text: str) -> tuple[str, str]:
    """What a recording kept, and the marker that says it was cut; no marker where it was not."""
    tail = max(len(text) - _MAX_MARKER_LENGTH, 0)
    match = (_MARKER.search(text, tail) if _may_be_marked(text[tail:]) else None) or _ELLIPSIS.search(text, tail)
    return (text, "") if match is None else (text[: match.start()], text[match.start() :].strip())


def _may_be_marked(end: str) -> bool:
    if not end.isascii() and _SAME_AS_ASCII.search(end):
        return True
    lowered = end.encode("utf-8", "replace").lower()
    return any(word in lowered for word in _MARKER_WORDS)


def truncated_block_text(text: str) -> tuple[str, str]:
    """The text of a content block whose JSON was cut, and the marker; any other text as it is, without one."""
    start = _BLOCK_START.match(text)
    if start is None:
        return text, ""
    kept, marker = split_truncation_marker(text)
    body = kept[start.end() :]
    for shorter in range(8):
        try:
            return str(json.loads(f'"{body[: len(body) - shorter]}"', strict=False)), marker
        except ValueError:
            continue
    return text, ""
