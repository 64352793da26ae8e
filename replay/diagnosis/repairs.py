"""What went right after a failed call: a later one that did what it was to do.

A later success counts only where it asks for the same: its arguments are those of the failed call but for the fault.
What it has otherwise is a likely fix only where the error speaks of just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from rapidfuzz import fuzz

from replay.dag.documents import join, name_at
from replay.diagnosis.error_answers import error_text, missing_name
from replay.diagnosis.format_and_registry import tools_meant
from replay.diagnosis.named_arguments import folded, is_named_in, is_repeated_in, is_same_name
from replay.diagnosis.phrasing import counted, listed, place, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext, last_segment
from replay.diagnosis.unchecked_writes import WRITES
from replay.outcomes.call_facts import holds_quoted
from replay.records import Outcome
from replay.records.finding import Finding

_NEAR: Final = 60.0
_NEAR_PROGRAM: Final = 80.0
"""Two commands, queries or programs share many words whatever they are to do."""
_SEGMENTS: Final = re.compile(r"&&|\|\|?|;|\n")
_SETTINGS: Final = frozenset({"cd", "export", "set", "sudo", "source", "pip", "import", "from"})
"""First words of what only prepares a program."""
_SPECIFIC: Final = re.compile(r"[^A-Za-z]|[a-z][A-Z]")
"""In a word that an error repeats: a plain word stands in many errors."""
_MIN_REPEATED: Final = 3
_MAX_SHOWN: Final = 12
"""Words of a text: of more nobody sees which."""
_MAX_COMPARED: Final = 2000
_MAX_NAMED: Final = 3
_PIECE: Final = re.compile(r"[^\s\"'`,;|&()<>\[\]{}=]+")
_FOR_READERS: Final = frozenset({"description", "explanation", "reason", "rationale", "thought", "justification"})
"""Arguments that tell a reader what the call is for."""
_MAX_WORDS: Final = 400
"""Of a text that is compared word by word."""
_MAX_VALUE: Final = 120
"""Characters of a value: paths differ at their ends."""


class Repair(NamedTuple):
    """A failed call and the later one that did what it was to do."""

    failed: str
    succeeded: str
    calls_later: int
    unchanged: bool
    difference: str
    """What the later call has otherwise and the error speaks of; empty where it speaks of nothing that changed."""


def repair_of(context: TrajectoryContext, position: str) -> Repair | None:
    """After a failed call, the first of the same tool, or of the tool meant, that asked for the same and succeeded."""
    row = context.rows[position]
    meant = {row.tool} if row.outcome is not Outcome.UNKNOWN_TOOL else set(tools_meant(context, position))
    failure: _Failure | None = None
    for later, later_row in context.rows.items():
        if later_row.outcome is not Outcome.SUCCESS or later_row.tool not in meant:
            continue
        if context.step_of[later] <= context.step_of[position]:
            continue
        failure = failure or _Failure(context, position)
        changes = list(changes_of(context.arguments(position), context.arguments(later)))
        if failure.asks_for_the_same(changes, later):
            told = list(filter(None, (failure.told(change, later) for change in changes)))
            distance = context.order[later] - context.order[position]
            return Repair(position, later, distance, not changes, listed(told, most=_MAX_NAMED))
    return None


def later_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What went right after a failed call: the same call made again, or else one that took a value from it."""
    repair = repair_of(context, position)
    if repair is not None:
        yield context.finding(
            position,
            "later-succeeded",
            f"{counted(repair.calls_later, 'call')} later, {repair.succeeded} {_again(context, repair)} and succeeded.",
            f"As in {repair.succeeded}: {repair.difference}." if repair.difference else None,
            calls=context.refs(position, repair.succeeded),
            certainty="likely",
        )
        return
    consumers = (edge.consumer for edge in context.graph.edges if edge.producer == position)
    later = next((consumer for consumer in consumers if context.outcome(consumer) is Outcome.SUCCESS), None)
    if later is not None:
        yield context.finding(
            position,
            "dependent-succeeded",
            f"The call failed, and {later}, which took a value from it, succeeded nevertheless.",
            calls=context.refs(position, later),
            certainty="likely",
        )


def _again(context: TrajectoryContext, repair: Repair) -> str:
    if context.rows[repair.failed].outcome is Outcome.UNKNOWN_TOOL:
        return f"called {quoted(context.rows[repair.succeeded].tool or '?')}"
    return "was the same call, unchanged," if repair.unchanged else "called the same tool"


class _Failure:
    """What a failed call asked for, and what its error says of it.

    Args:
        context: the trajectory.
        position: of the failed call.
    """

    def __init__(self, context: TrajectoryContext, position: str) -> None:
        self._context, self._position = context, position
        row = context.rows[position]
        self._unknown_tool = row.outcome is Outcome.UNKNOWN_TOOL
        self._schema = {violation.pointer for violation in row.violations} - {""}
        self._error = error_text(context, position)
        self._pieces = {folded(piece) for piece in pieces_of(self._error)}
        self._missing = (missing_name(context, position) if row.outcome is Outcome.NOT_FOUND else None) or ""

    def asks_for_the_same(self, changes: list[ArgumentChange], later: str) -> bool:
        """Whether the later call's arguments are those of the failed one but for its fault."""
        old, new = self._context.arguments(self._position), self._context.arguments(later)
        changes = [change for change in changes if not change.for_readers]
        if self._unknown_tool or any(map(self._breaks_schema, changes)):
            renamed = sorted(map(_text, old.values())) == sorted(map(_text, new.values()))
            if renamed or (self._unknown_tool and old.keys() & new.keys() and all(map(_is_near, changes))):
                return True
        if self._unknown_tool or (changes and not (old and new)):
            return not changes
        if not all(_is_near(change) for change in changes if change.is_text):
            return False
        if any(change.loses_items for change in changes) or not self._finds_the_missing(changes, later):
            return False
        untold = [change for change in changes if not self._speaks_of(change)]
        alone = not untold or len(changes) == 1 or untold[0].is_text
        return (
            len(untold) <= 1
            and alone
            and all(self._puts_right(change) or self._stays_near(change) for change in changes)
        )

    def told(self, change: ArgumentChange, later: str) -> str:
        """A change in words, where the error speaks of it; empty where it does not."""
        if self._unknown_tool:
            return change.words()
        if not self._speaks_of(change) or (change.for_readers and change.old):
            return ""
        hunks = self._told_hunks(change)
        if hunks and not any(self._repeats(hunk.old) for hunk in hunks) and self._is_written_before(later):
            return ""  # what was written may have been the cure
        short = [hunk for hunk in hunks if max(map(len, hunk)) <= _MAX_SHOWN]
        return change.words(short) if short or not hunks else ""

    def _breaks_schema(self, change: ArgumentChange) -> bool:
        return any(
            f"{pointer}/".startswith(f"{change.pointer}/") or change.pointer.startswith(f"{pointer}/")
            for pointer in self._schema
        )

    def _speaks_of(self, change: ArgumentChange) -> bool:
        """Whether the error is about what was changed: it has the name, the old value or the new one."""
        if self._breaks_schema(change):
            return True
        if change.is_text:
            return bool(self._told_hunks(change))
        return is_named_in(self._error, change.name) or any(map(self._holds, (*change.old, *change.new)))

    def _told_hunks(self, change: ArgumentChange) -> list[Hunk]:
        """The words of a text that changed and that the error has; what only filters a program's output is none."""
        hunks = (hunk for hunk in change.hunks if hunk.old or not hunk.new[0].startswith("|"))
        return [hunk for hunk in hunks if self._repeats(hunk.old) or self._repeats(hunk.new)]

    def _holds(self, value: Any) -> bool:
        return is_repeated_in(self._error, value) if isinstance(value, str) else self._repeats([str(value)])

    def _puts_right(self, change: ArgumentChange) -> bool:
        """Whether the error says what the later call has there: it names the place, or the new value."""
        told = self._breaks_schema(change) or is_named_in(self._error, change.name)
        return not change.is_text and (told or any(self._holds(value) for value in change.new))

    def _stays_near(self, change: ArgumentChange) -> bool:
        """Whether a value can be another one put right; of a text, what it names stays but for what the error names."""
        return _is_near(change) and all(map(self._keeps_names, change.hunks))

    def _keeps_names(self, hunk: Hunk) -> bool:
        """Whether a path that the error names is one of that name still, and nothing else that is named has gone."""
        old, new = _long_pieces(hunk.old), _long_pieces(hunk.new)
        if not self._repeats(hunk.old):
            return not any(map(_SPECIFIC.search, old))
        paths = [last_segment(piece) for piece in old if "/" in piece and folded(piece) in self._pieces]
        return not (paths and new) or any(is_same_name(path, last_segment(piece)) for path in paths for piece in new)

    def _repeats(self, words: list[str]) -> bool:
        return any(
            folded(piece) in self._pieces
            if _SPECIFIC.search(piece)
            else piece in self._error and holds_quoted(self._error, piece)
            for piece in _long_pieces(words)
        )

    def _finds_the_missing(self, changes: list[ArgumentChange], later: str) -> bool:
        """Whether the later call has what was missing under another name, or first makes it."""
        if not self._missing or not changes:
            return True
        hunks = [hunk for change in changes for hunk in change.hunks or [Hunk(*map(_texts, (change.old, change.new)))]]
        named = any(self._is_the_missing(piece, later) for hunk in hunks for piece in pieces_of(" ".join(hunk.new)))
        return named or not any(hunk.old for hunk in hunks)

    def _is_the_missing(self, name: str, later: str) -> bool:
        missing, name = last_segment(self._missing), last_segment(name)
        if missing == name:
            return "." in name  # a folder of that name is another one elsewhere
        return is_same_name(missing, name) or (
            fuzz.ratio(missing, name) >= _NEAR and self._is_shown_before(name, later)
        )

    def _is_shown_before(self, name: str, later: str) -> bool:
        """Whether an answer between the failure and a later call, or the error itself, holds a name."""
        return any(name in self._context.answer_text(at) for at in [self._position, *self._between(later)])

    def _is_written_before(self, later: str) -> bool:
        return any(WRITES.search(self._context.calls[at].name or "") for at in self._between(later))

    def _between(self, later: str) -> list[str]:
        order = self._context.order
        return [at for at in order if order[self._position] < order[at] < order[later]]


def _is_near(change: ArgumentChange) -> bool:
    """Whether a value can be another one put right."""
    if not change.old or not change.new:
        return True
    (failed,), (later,) = change.old, change.new
    if type(failed) is not type(later) or isinstance(failed, bool | int | float):
        return False
    old, new = _text(failed)[:_MAX_COMPARED].strip(), _text(later)[:_MAX_COMPARED].strip()
    if isinstance(failed, str) and any(map(str.isspace, old)):
        return old in new or (_programs(old) <= _programs(new) and fuzz.ratio(old, new) >= _NEAR_PROGRAM)
    if "://" in old and "://" in new and urlsplit(old).hostname != urlsplit(new).hostname:
        return False
    if isinstance(failed, str) and "/" in old:
        old, new = last_segment(old), last_segment(new)
    return fuzz.ratio(old, new) >= _NEAR


def _programs(text: str) -> frozenset[str]:
    """What a command line starts: the first words of its parts, without what only prepares it."""
    first = (segment.split(maxsplit=1)[0] for segment in _SEGMENTS.split(text) if segment.strip())
    return frozenset(word for word in first if word not in _SETTINGS)


def _long_pieces(words: list[str]) -> list[str]:
    return [piece for piece in pieces_of(" ".join(words)) if len(folded(piece)) >= _MIN_REPEATED]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _texts(values: tuple[Any, ...]) -> list[str]:
    return [_text(value) for value in values]


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
        return name_at(self.pointer)

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
        return f"{where} is {'' if self.old else 'given: '}{quoted(self.new[0], _MAX_VALUE)}"


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
