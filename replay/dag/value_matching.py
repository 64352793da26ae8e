"""Values looked for in texts: where a value stands as a whole, and which argument a text speaks of.

Two questions are asked of the same texts, each with its own idea of a match:

- Did a value flow from an answer into an argument? `occurrences`: not a part of a longer word, number or file name.
- Which one argument does an error speak of? `argument_by_value` and `argument_by_name`: the longest, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from replay.dag.pointers import join, leaves, parts
from replay.records import JsonObject

__all__ = [
    "Argument",
    "argument_by_name",
    "argument_by_value",
    "arguments_of",
    "first_occurrence",
    "holds_number",
    "holds_word",
    "is_number",
    "occurrences",
]

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?(e[-+]\d{1,3})?")
_DIGITS: Final = frozenset("0123456789")
MAX_COMPARED: Final = 20_000_000
"""Characters compared to find one value: a long one that repeats itself stands everywhere in a longer one."""
MIN_WORD_LENGTH: Final = 3
MIN_NAME_LENGTH: Final = 4
MAX_REPEATED_LENGTH: Final = 400
_UNSPECIFIC_WORDS: Final = frozenset(
    """
    true false none null error file path name get set read write list all text type title value data object string
    number key code main master test user content query
    """.split()  # noqa: SIM905 a list would take a line a word
)
"""Words that stand in any error message."""


def is_number(text: str) -> bool:
    """Whether a text is the spelling of a number."""
    if not text or (text[-1] not in _DIGITS and text[-1].isascii()):
        return False
    return _NUMBER.fullmatch(text) is not None


def occurrences(text: str, value: str) -> Iterable[int]:
    """Where a value stands in a text as a whole, and not as a part of a longer word, number or file name."""
    bounded = _number_bounded if is_number(value) else _text_bounded
    start = text.find(value) if value else -1
    tries = max(MAX_COMPARED // max(len(value), 1), 8)
    while start >= 0 and tries:
        if bounded(text, start, value):
            yield start
        start, tries = text.find(value, start + 1), tries - 1


def first_occurrence(text: str, value: str) -> int:
    """The first of `occurrences`; -1 where there is none."""
    start = text.find(value) if value else -1
    if start < 0:
        return -1
    bounded = _number_bounded if is_number(value) else _text_bounded
    return start if bounded(text, start, value) else next(iter(occurrences(text, value)), -1)


def holds_number(text: str, number: object) -> bool:
    """Whether a text holds a number that is not a part of a longer one."""
    return re.search(rf"(?<![\w.]){re.escape(str(number))}(?![\w.]*\d)", text) is not None


def holds_word(text: str, word: str) -> bool:
    """Whether a text holds a word, or several, with no letter or digit on either side."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def holds_quoted(text: str, word: str) -> bool:
    """Whether a text holds a word in quotes."""
    return re.search(rf"['\"`]{re.escape(word)}['\"`]", text) is not None


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
        if len(name := parts(field.pointer)[-1]) >= MIN_NAME_LENGTH
        and name.lower() not in _UNSPECIFIC_WORDS
        and (holds_word(text, name) or ("_" in name and _folded(name) in folded))
    ]
    outermost = [field for field in found if not any(field.pointer.startswith(f"{outer.pointer}/") for outer in found)]
    return outermost[0] if len(outermost) == 1 else None


def _repeats(text: str, value: Any) -> bool:
    if not isinstance(value, str):
        return holds_number(text, value)
    value = value.strip().rstrip("/")
    if not value or len(value) > MAX_REPEATED_LENGTH or value.lower() in _UNSPECIFIC_WORDS:
        return False
    return holds_word(text, value) if len(value) >= MIN_WORD_LENGTH else holds_quoted(text, value)


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


def _number_bounded(text: str, start: int, value: str) -> bool:
    end = start + len(value)
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    if _is_word(before[-1:]) or _is_word(after[:1]):
        return False
    return not (before[-1:] == "." and before[:1].isdigit()) and not (after[:1] == "." and after[1:].isdigit())


def _text_bounded(text: str, start: int, value: str) -> bool:
    end = start + len(value)
    before, after, beyond = text[max(start - 1, 0) : start], text[end : end + 1], text[end + 1 : end + 2]
    id_like = _is_id_like(value)
    if (_is_word(value[0]) and _is_word(before, id_like)) or (_is_word(value[-1]) and _is_word(after, id_like)):
        return False
    if value[0] in "/.~" and (_is_word(before) or before in {".", "-", "~"}):
        return False
    if id_like or " " in value:
        return True
    if before == "-" or (after == "-" and _is_word(beyond)):
        return False
    return not (after == "." and _is_word(beyond))


def _is_id_like(value: str) -> bool:
    """Letters with digits: it cannot be a part of a word, so a file name may hold it: `job_8f3a2b.txt`."""
    return len(value) >= 6 and value.isalnum() and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_word(character: str, underscore_ends: bool = False) -> bool:
    return character.isalnum() or (character == "_" and not underscore_ends)
