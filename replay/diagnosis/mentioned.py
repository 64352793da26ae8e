"""Which argument an error message speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from replay.dag.pointers import join, leaves, parts
from replay.records import JsonObject

_SHORTEST: Final = 3
_SHORTEST_NAME: Final = 4
_LONGEST: Final = 400
_COMMON: Final = frozenset(
    (
        *(
            "true",
            "false",
            "none",
            "null",
            "error",
            "file",
            "path",
            "name",
            "get",
            "set",
            "read",
            "write",
            "list",
            "all",
        ),
        *("text", "type", "title", "value", "data", "object", "string", "number", "key", "code", "main", "master"),
        *("test", "user", "content", "query"),
    )
)
"""Words that stand in any error message."""


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


def named_in(arguments: JsonObject, text: str) -> Mentioned | None:
    """The one argument, or field inside one, whose name a text uses; None where it uses several."""
    folded = _folded(text)
    found = [
        one
        for one in _fields(arguments)
        if len(name := parts(one.pointer)[-1]) >= _SHORTEST_NAME
        and name.lower() not in _COMMON
        and (re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) or ("_" in name and _folded(name) in folded))
    ]
    outermost = [one for one in found if not any(one.pointer.startswith(f"{other.pointer}/") for other in found)]
    return outermost[0] if len(outermost) == 1 else None


def _fields(value: Any, base: str = "") -> Iterator[Mentioned]:
    """Every member of every object."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        pointer = join(base, key)
        if isinstance(value, dict):
            yield Mentioned(pointer, member)
        yield from _fields(member, pointer)


def _folded(text: str) -> str:
    return re.sub(r"[_\s-]", "", text).lower()


def _says(text: str, value: Any) -> bool:
    if not isinstance(value, str):
        return re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.]*\d)", text) is not None
    value = value.strip().rstrip("/")
    if not value or len(value) > _LONGEST:
        return False
    if value.lower() in _COMMON:
        return False
    if len(value) < _SHORTEST:
        return re.search(rf"['\"`]{re.escape(value)}['\"`]", text) is not None
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
