"""Which one argument of a call an error speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from replay.dag.documents import join, leaves, parts
from replay.outcomes.call_facts import holds_number, holds_quoted, holds_word
from replay.records import JsonObject

_MIN_WORD_LENGTH: Final = 3
_MIN_NAME_LENGTH: Final = 4
_MAX_REPEATED_LENGTH: Final = 400
_WORDS: Final = re.compile(r"[^\W_]+")
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
    """The argument whose value a text repeats: the longest; None where it repeats none, or two of one length.

    What a text says something is not in (`"old" did not appear in notes.md`) is named only where nothing else is.
    """
    repeated = [argument for argument in arguments_of(arguments) if is_repeated_in(text, argument.value)]
    found = [argument for argument in repeated if not _is_where(text, argument.value)] or repeated
    found.sort(key=lambda argument: -len(str(argument.value)))
    if not found or (len(found) > 1 and len(str(found[0].value)) == len(str(found[1].value))):
        return found[0] if found and len({str(argument.value) for argument in found}) == 1 else None
    return found[0]


def argument_by_name(arguments: JsonObject, text: str) -> Argument | None:
    """The one argument, or field inside one, whose name a text uses; None where it uses several."""
    found = [field for field in _fields(arguments) if is_named_in(text, parts(field.pointer)[-1])]
    outermost = [field for field in found if not any(field.pointer.startswith(f"{outer.pointer}/") for outer in found)]
    return outermost[0] if len(outermost) == 1 else None


def is_named_in(text: str, name: str) -> bool:
    """Whether a text speaks of an argument by its name."""
    return (
        len(name) >= _MIN_NAME_LENGTH
        and name.lower() not in _UNSPECIFIC_WORDS
        and (holds_word(text, name) or ("_" in name and _unseparated(name) in _unseparated(text)))
    )


def is_same_name(one: str, other: str) -> bool:
    """Whether two names of files or things are one: but for case, separators, the ending, or a slip in a word."""
    stems = [name.rpartition(".")[0] or name for name in (one, other)]
    first, second = (_WORDS.findall(stem.casefold()) for stem in stems)
    alike = len(first) == len(second) and all(map(_is_same_word, first, second))
    return bool(first) and ("".join(first) == "".join(second) or alike)


def _is_same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    long_enough = min(len(one), len(other)) >= _MIN_NAME_LENGTH and (one + other).isalpha()
    return long_enough and (
        one.startswith(other) or other.startswith(one) or DamerauLevenshtein.distance(one, other) == 1
    )


def is_repeated_in(text: str, value: Any) -> bool:
    """Whether a text repeats a value."""
    if not isinstance(value, str):
        return holds_number(text, value)
    value = value.strip().rstrip("/")
    if not value or len(value) > _MAX_REPEATED_LENGTH or value.lower() in _UNSPECIFIC_WORDS:
        return False
    return holds_word(text, value) if len(value) >= _MIN_WORD_LENGTH else holds_quoted(text, value)


def _is_where(text: str, value: Any) -> bool:
    """Whether a text only says that something is not in a value."""
    return (
        re.search(rf"\bnot [^\n]{{0,60}}\bin (?:the )?(?:file )?['\"`]?{re.escape(str(value).strip())}", text)
        is not None
    )


def _fields(value: Any, base: str = "") -> Iterator[Argument]:
    """Every member of every object."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        pointer = join(base, key)
        if isinstance(value, dict):
            yield Argument(pointer, member)
        yield from _fields(member, pointer)


def folded(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return "".join(_WORDS.findall(text.casefold()))


def _unseparated(text: str) -> str:
    return re.sub(r"[_\s-]", "", text).lower()
