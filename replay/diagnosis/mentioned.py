"""Which argument an error message speaks of."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from replay.dag.pointers import leaves
from replay.records import JsonObject

_SHORTEST: Final = 3
_LONGEST: Final = 400
_COMMON: Final = frozenset(
    ("true", "false", "none", "null", "error", "file", "path", "name", "get", "set", "read", "write", "list", "all")
)


class Mentioned(NamedTuple):
    """An argument, by its place."""

    pointer: str
    value: Any


def scalars(arguments: JsonObject) -> list[Mentioned]:
    """The strings and numbers in the arguments, with their places."""
    return [Mentioned(*leaf) for leaf in leaves(arguments, enter_texts=False)]


def mentioned_in(arguments: JsonObject, text: str) -> Mentioned | None:
    """The argument whose value a text says again: the longest; None where it says none, or two of one length."""
    found = [one for one in scalars(arguments) if _says(text, one.value)]
    found.sort(key=lambda one: -len(str(one.value)))
    if not found or (len(found) > 1 and len(str(found[0].value)) == len(str(found[1].value))):
        return found[0] if found and len({str(one.value) for one in found}) == 1 else None
    return found[0]


def _says(text: str, value: Any) -> bool:
    if not isinstance(value, str):
        return re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.]*\d)", text) is not None
    value = value.strip().rstrip("/")
    if not value or len(value) > _LONGEST:
        return False
    if len(value) < _SHORTEST or value.lower() in _COMMON:
        return re.search(rf"['\"`]{re.escape(value)}['\"`]", text) is not None
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
