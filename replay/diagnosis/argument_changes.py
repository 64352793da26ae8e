"""What the arguments of two calls have otherwise, place by place, and in a text word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from replay.dag.documents import join, parts
from replay.diagnosis.phrasing import listed, place, quoted

_PIECE: Final = re.compile(r"[^\s\"'`,;|&()<>\[\]{}=]+")
_FOR_READERS: Final = frozenset({"description", "explanation", "reason", "rationale", "thought", "justification"})
"""Arguments that tell a reader what the call is for."""
_MAX_WORDS: Final = 400
"""Of a text that is compared word by word."""
_MAX_NAMED: Final = 3
_MAX_SHOWN: Final = 120
"""Characters of a value: paths differ at their ends."""


class Hunk(NamedTuple):
    """Words of a text, and those that stand in their place."""

    old: list[str]
    new: list[str]

    def words(self) -> str:
        """For a sentence."""
        old, new = (quoted(" ".join(words), 60) for words in self)
        if not self.new:
            return f"is without {old}"
        return f"has {new} instead of {old}" if self.old else f"also has {new}"


class ArgumentChange:
    """One place in the arguments of two calls.

    Args:
        pointer: of the place.
        old: what the first call has there; nothing where it has none.
        new: the same of the second call.
    """

    def __init__(self, pointer: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> None:
        self.pointer, self.old, self.new = pointer, old, new

    @property
    def name(self) -> str:
        """Of the argument or the field."""
        return next((part for part in reversed(parts(self.pointer)) if not part.isdigit()), "")

    @property
    def for_readers(self) -> bool:
        """Whether it only tells a reader what the call is for."""
        return self.pointer.count("/") == 1 and self.name in _FOR_READERS

    @property
    def loses_items(self) -> bool:
        """Whether a list has fewer items and no other ones."""
        return all(isinstance(value, list) for value in (*self.old, *self.new))

    @cached_property
    def is_text(self) -> bool:
        """Whether both calls have a text there, and one of them several words."""
        texts = [value for value in (*self.old, *self.new) if isinstance(value, str)]
        return len(texts) == 2 and any(len(text.split(maxsplit=1)) > 1 for text in texts)

    @cached_property
    def hunks(self) -> list[Hunk]:
        """The words of a text that differ; none where it is no text, or a long one."""
        if not self.is_text:
            return []
        old, new = self.old[0].split(), self.new[0].split()
        if max(len(old), len(new)) > _MAX_WORDS:
            return []
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return [Hunk(old[a:b], new[c:d]) for tag, a, b, c, d in codes if tag != "equal"]

    def words(self, hunks: list[Hunk] | None = None) -> str:
        """For a sentence: what the second call has; of a text the hunks that are given."""
        where = place(self.pointer)
        if hunks:
            return f"{where} {listed([hunk.words() for hunk in hunks], most=_MAX_NAMED)}"
        if not self.new:
            return f"{where} is left out"
        return f"{where} is {'' if self.old else 'given: '}{quoted(self.new[0], _MAX_SHOWN)}"


def changes_of(old: Any, new: Any, pointer: str = "") -> Iterator[ArgumentChange]:
    """The places at which two values differ: as far inside as both have a member there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _members(old.get(key, _NONE), new.get(key, _NONE), join(pointer, key))
    elif isinstance(old, list) and isinstance(new, list) and not (len(new) < len(old) and all(x in old for x in new)):
        for index, pair in enumerate(zip_longest(old, new, fillvalue=_NONE)):
            yield from _members(*pair, join(pointer, index))
    elif old != new or type(old) is not type(new):
        yield ArgumentChange(pointer, (old,), (new,))


_NONE: Final = object()


def _members(old: Any, new: Any, pointer: str) -> Iterator[ArgumentChange]:
    if _NONE in (old, new):
        yield ArgumentChange(pointer, () if old is _NONE else (old,), () if new is _NONE else (new,))
    else:
        yield from changes_of(old, new, pointer)


def pieces_of(value: Any) -> list[str]:
    """The words of a value without brackets, quotes and what else stands between them."""
    return _PIECE.findall(value if isinstance(value, str) else repr(value))
