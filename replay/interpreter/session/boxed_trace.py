"""Stack traces that were drawn in a box for a terminal, as plain text again.

The Python SDK logs them so, 80 columns wide where stderr is no terminal: a hundred lines for one error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_TOP: Final = re.compile(r"^(\s*)╭─+ Traceback \(most recent call last[)─]?.*╮\s*$")
_INSIDE: Final = re.compile(r"^\s*│ (.*) │\s*$")
_BOTTOM: Final = re.compile(r"^\s*╰─+╯\s*$")
_PLACE: Final = re.compile(r":\d+ in \S+$")
_MAX_WRAPPED: Final = 12
"""Lines that one place or one message may be wrapped into."""


def unboxed(text: str) -> str:
    """A text with each boxed trace as Python prints one: its places, a line each, and the error."""
    if "╭" not in text:
        return text
    lines = text.splitlines()
    return "\n".join(_plain(lines))


def _plain(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        top = _TOP.match(lines[at])
        if top is None:
            yield lines[at]
            at += 1
            continue
        inside: list[str] = []
        at += 1
        while at < len(lines) and (found := _INSIDE.match(lines[at])):
            inside.append(found[1])
            at += 1
        yield "Traceback (most recent call last):"
        yield from (f"  {place}" for place in _places(inside))
        if at < len(lines) and _BOTTOM.match(lines[at]):
            error, at = _paragraph(lines, at + 1, indent=len(top[1]))
            yield error


def _places(inside: list[str]) -> Iterator[str]:
    """`file:line in function`, put together where they are wrapped; the source lines between are left out."""
    held = ""
    for line in inside:
        text, full = line.rstrip(), not line.endswith(" ")
        starts = text.startswith(("/", "in ")) or re.match(r"[A-Za-z]:[\\/]", text) is not None
        if not held and not starts:
            continue
        gap = " " if text.startswith("in ") and held and not held.endswith(" ") else ""
        held += gap + (text if full else f"{text} ")
        if _PLACE.search(held.rstrip()):
            yield held.strip()
            held = ""
        elif len(held) > _MAX_WRAPPED * len(line):
            held = ""


def _paragraph(lines: list[str], at: int, *, indent: int) -> tuple[str, int]:
    """The lines from `at` on that begin in one column, as one, and where they end."""
    words: list[str] = []
    while at < len(lines) and len(words) < _MAX_WRAPPED:
        line = lines[at]
        if not line.strip() or len(line) - len(line.lstrip()) != indent:
            break
        words.append(line.strip())
        at += 1
    return " ".join(words), at
