"""How values, places and lists stand in a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from replay.dag.documents import parts
from replay.safety.text import one_line, without_colours

_COUNT_OF_ERRORS: Final = re.compile(r"\b\d+ validation errors? for \w+ ")
"""What pydantic's check of arguments says before it says anything."""
_MAX_LENGTH: Final = 90
_MAX_LISTED: Final = 6


def quoted(value: Any, limit: int = _MAX_LENGTH) -> str:
    """A value as JSON, on one line, cut where it is long."""
    if isinstance(value, str):
        return f'"{one_line(value, limit)}"'
    return one_line(json.dumps(value, ensure_ascii=False, default=str), limit)


def plain(text: str, limit: int = 160) -> str:
    """Words of a server on one line, without a full stop at the end."""
    return one_line(without_colours(text), limit).rstrip(".")


def ended(words: str) -> str:
    """Words as a sentence: with a full stop, where nothing else ends them and they are not cut there."""
    return words if words.endswith(("?", "!", "…")) else f"{words}."


def without_preamble(message: str) -> str:
    """A verdict's sentence for a narrow column, without colours and the count of errors that a check found."""
    return _COUNT_OF_ERRORS.sub("", without_colours(message), count=1)


def place(pointer: str) -> str:
    """`"path"`, `"items[0].name"` for a JSON pointer in arguments; `the arguments` for the whole."""
    if not pointer:
        return "the arguments"
    written = ""
    for part in parts(pointer):
        written += f"[{part}]" if part.isdigit() and written else f".{part}" if written else part
    return f'"{one_line(written, _MAX_LENGTH)}"'


def listed(items: Sequence[str], last: str = "and", most: int = _MAX_LISTED) -> str:
    """`a, b and c`; of many the first ones and how many more there are."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def times(count: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def counted(count: int, noun: str) -> str:
    """`1 call`, `3 calls`, `3 trajectories`."""
    if count == 1:
        return f"1 {noun}"
    consonant_y = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    return f"{count} {noun[:-1]}ies" if consonant_y else f"{count} {noun}s"


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    names: list[tuple[Any, str]] = [(str, "string"), (int, "integer"), (float, "number"), (list, "array")]
    return next((name for kind, name in names if isinstance(value, kind)), "object")


def types_of(expected: Any) -> str:
    """The `type` keyword in words: `string`, `string or null`."""
    names = [expected] if isinstance(expected, str) else [str(name) for name in expected or ()]
    return listed(names, "or")
