"""Which one argument of a call an error speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from replay.dag.documents import join, leaves, parts
from replay.outcomes.call_facts import holds_number, holds_quoted, holds_word
from replay.records import JsonObject

_MIN_WORD_LENGTH: Final = 3
_MIN_NAME_LENGTH: Final = 4
_MAX_REPEATED_LENGTH: Final = 400
_UNSPECIFIC_WORDS: Final = frozenset(
    """
    true false none null error file path name get set read write list all text type title value data object string
    number key code main master test user content query
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""Words that stand in any error message."""


class Argument(NamedTuple):
    """An argument, or a field inside one, by its place."""

    pointer: str
    value: Any


def arguments_of(arguments: JsonObject) -> list[Argument]:
    """The strings and numbers in the arguments, with their places."""
    return [Argument(*leaf) for leaf in leaves(arguments, enter_texts=False)]


def argument_by_value(arguments: JsonObject, text: str) -> Argument | None:
    """The argument whose value a text repeats: the longest; None where it repeats none, or two of one length."""
    found = [argument for argument in arguments_of(arguments) if _repeats(text, argument.value)]
    found.sort(key=lambda argument: -len(str(argument.value)))
    if not found or (len(found) > 1 and len(str(found[0].value)) == len(str(found[1].value))):
        return found[0] if found and len({str(argument.value) for argument in found}) == 1 else None
    return found[0]


def argument_by_name(arguments: JsonObject, text: str) -> Argument | None:
    """The one argument, or field inside one, whose name a text uses; None where it uses several."""
    folded = _folded(text)
    found = [
        field
        for field in _fields(arguments)
        if len(name := parts(field.pointer)[-1]) >= _MIN_NAME_LENGTH
        and name.lower() not in _UNSPECIFIC_WORDS
        and (holds_word(text, name) or ("_" in name and _folded(name) in folded))
    ]
    outermost = [field for field in found if not any(field.pointer.startswith(f"{outer.pointer}/") for outer in found)]
    return outermost[0] if len(outermost) == 1 else None


def _repeats(text: str, value: Any) -> bool:
    if not isinstance(value, str):
        return holds_number(text, value)
    value = value.strip().rstrip("/")
    if not value or len(value) > _MAX_REPEATED_LENGTH or value.lower() in _UNSPECIFIC_WORDS:
        return False
    return holds_word(text, value) if len(value) >= _MIN_WORD_LENGTH else holds_quoted(text, value)


def _fields(value: Any, base: str = "") -> Iterator[Argument]:
    """Every member of every object."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        pointer = join(base, key)
        if isinstance(value, dict):
            yield Argument(pointer, member)
        yield from _fields(member, pointer)


def _folded(text: str) -> str:
    return re.sub(r"[_\s-]", "", text).lower()
