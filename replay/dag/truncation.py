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
_MARKER_WORD: Final = re.compile("too long|truncat|only the first |character|cut |more |output omitted", re.IGNORECASE)
"""One of them is in every marker."""
_MAX_BEFORE_WORD: Final = 120
_OPENING_MARKS: Final = frozenset(".…([<*-")
"""What a marker may begin with before that, besides blanks."""
_ELLIPSIS: Final = re.compile(r"\s*+(?:\.{3}|…)\s*\Z")
_BLOCK_START: Final = re.compile(r'\s*+\[?+\s*+\{\s*+"type"\s*+:\s*+"text"\s*+,\s*+"text"\s*+:\s*+"')
_MAX_MARKER_LENGTH: Final = 900
"""A marker stands at the very end."""


def split_truncation_marker(text: str) -> tuple[str, str]:
    """What a recording kept, and the marker that says it was cut; no marker where it was not."""
    tail = max(len(text) - _MAX_MARKER_LENGTH, 0)
    start = _earliest_start(text, tail)
    match = (_MARKER.search(text, start) if start is not None else None) or _ELLIPSIS.search(text, tail)
    return (text, "") if match is None else (text[: match.start()], text[match.start() :].strip())


def _earliest_start(text: str, tail: int) -> int | None:
    """Where a marker in the tail may begin at the earliest; None where there is none."""
    word = _MARKER_WORD.search(text, tail)
    if word is None:
        return None
    start = max(word.start() - _MAX_BEFORE_WORD, tail)
    while start > tail and (text[start - 1] in _OPENING_MARKS or text[start - 1].isspace()):
        start -= 1
    return start


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
