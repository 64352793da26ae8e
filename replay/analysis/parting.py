"""Which calls of two trajectories of a task go together, and the first call at which the two part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

import numpy as np

from replay.alignment.matching import Block, Side, by_tool, match
from replay.alignment.tasks import SignedCall
from replay.analysis.known_failures import folded_name
from replay.diagnosis.phrasing import listed, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext, last_segment
from replay.records import Outcome, canonical
from replay.records.comparison import Parting, PartingSide
from replay.safety.text import one_line

Deed: TypeAlias = tuple[str, str]
"""What a call does: its tool, and its arguments as text."""
Sides: TypeAlias = tuple[TrajectoryContext, TrajectoryContext]
_MAX_CELLS: Final = 100_000
"""Of a matrix of similarities; the calls of a tool that would need more go together in their order."""
_TOLD: Final = 4
"""Calls that are told of what each did then."""


def paired_calls(first: Sequence[Deed], second: Sequence[Deed]) -> list[tuple[int, int]]:
    """The numbers of calls that go together, one of each trajectory, in the order of the first.

    Between what is the same at both ends the alignment's own matching pairs the calls of a tool: as many as can be, the
    most alike, and of those that are as much alike the nearest.
    """
    head = _same_at_start(first, second)
    tail = _same_at_start(first[head:][::-1], second[head:][::-1])
    middle = [_signed(side, range(head, len(side) - tail)) for side in (first, second)]
    pairs = [(number, number) for number in range(head)]
    pairs += [(len(first) - number, len(second) - number) for number in range(1, tail + 1)]
    for _, calls, others in by_tool(*middle):
        pairs += _of_one_tool(calls, others)
    return sorted(pairs)


def _same_at_start(first: Sequence[Deed], second: Sequence[Deed]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _signed(calls: Sequence[Deed], numbers: range) -> list[SignedCall]:
    return [SignedCall(number, number, "", calls[number][0], calls[number][1], None, True) for number in numbers]


def _of_one_tool(first: Sequence[SignedCall], second: Sequence[SignedCall]) -> list[tuple[int, int]]:
    if len(first) * len(second) > _MAX_CELLS:
        return [(call.index, other.index) for call, other in zip(first, second, strict=False)]
    words = [[frozenset(re.findall(r"\w+", call.signature)) for call in calls] for calls in (first, second)]
    alike = [[2 * len(own & other) / (len(own) + len(other) or 1) for other in words[1]] for own in words[0]]
    block = Block("", Side(tuple(first)), Side(tuple(second)), np.array(alike, np.float32))
    return [(row, column) for row, column, _ in match([block], 0.0)]


def parting_of(first: TrajectoryContext, second: TrajectoryContext) -> Parting | None:
    """The first call that differs in what matters between two trajectories of a task, and what each did then.

    What matters is how a call was judged, the values in its arguments that nobody makes up, and whether it was made at
    all, unless it only reads and succeeded. Sentences do not count, nor the folders of a path, nor what came from an
    answer: a server may draw its ids anew.

    Returns:
        None where no call differs so.
    """
    sides = first, second
    found = min(_differences(sides), key=lambda difference: difference[0], default=None)
    if found is None:
        return None
    _, numbers, why = found
    shown = [_side(context, number) for context, number in zip(sides, numbers, strict=True)]
    return Parting(task=first.trajectory.task.id or first.trajectory.id, first=shown[0], second=shown[1], why=why)


def _differences(sides: Sides) -> Iterator[tuple[float, tuple[int, int], str]]:
    """What differs: its place in the first trajectory, the numbers of the calls, and a sentence.

    Of a call that one alone makes, the other's number is that of the call after those that go together before.
    """
    names = _names(sides)
    positions = [list(context.rows) for context in sides]
    pairs = dict(paired_calls(*(list(_deeds(context)) for context in sides)))
    partners = {other: number for number, other in pairs.items()}
    for number, position in enumerate(positions[0]):
        if number in pairs:
            if why := _difference(sides, names, (position, positions[1][pairs[number]])):
                yield number, (number, pairs[number]), why
        elif _matters(sides[0], position):
            after = 1 + max((pairs[earlier] for earlier in range(number) if earlier in pairs), default=-1)
            both = after not in partners and after < len(positions[1]) and _matters(sides[1], positions[1][after])
            told = _told(sides[0], position)
            does = f"calls {_told(sides[1], positions[1][after])} there" if both else "makes no such call"
            yield number - 0.5, (number, after), f"{names[0]} calls {told}; {names[1]} {does}."
    for other, position in enumerate(positions[1]):
        if other not in partners and _matters(sides[1], position):
            after = 1 + max((partners[earlier] for earlier in range(other) if earlier in partners), default=-1)
            why = f"{names[1]} calls {_told(sides[1], position)}; {names[0]} makes no such call."
            yield after - 0.5, (after, other), why


def _names(sides: Sides) -> tuple[str, str]:
    """What tells the two apart in a sentence: model, id, or result."""
    first, second = (context.trajectory for context in sides)
    if first.model != second.model:
        return one_line(first.model, 60), one_line(second.model, 60)
    if first.id != second.id:
        return one_line(first.id, 60), one_line(second.id, 60)
    passed = [trajectory.reported is not None and trajectory.reported.passed for trajectory in (first, second)]
    if set(passed) == {True, False}:
        won, lost = "the run that passed", "the one that was lost"
        return (won, lost) if passed[0] else (lost, won)
    return "the first run", "the second"


def _told(context: TrajectoryContext, position: str) -> str:
    return f"{one_line(context.rows[position].tool or '(no tool)', 60)} ({position})"


def _deeds(context: TrajectoryContext) -> Iterator[Deed]:
    for position, row in context.rows.items():
        yield folded_name(row.tool or context.calls[position].name), canonical(context.arguments(position))


def _matters(context: TrajectoryContext, position: str) -> bool:
    return context.outcome(position) is not Outcome.SUCCESS or not context.only_reads(position)


def _difference(sides: Sides, names: tuple[str, str], calls: tuple[str, str]) -> str | None:
    """What matters in which two calls that go together differ, as a sentence."""
    outcomes = [context.rows[call].outcome for context, call in zip(sides, calls, strict=True)]
    both = f"Both call {one_line(sides[0].rows[calls[0]].tool or '(no tool)', 60)}"
    if outcomes[0] is not outcomes[1]:
        return f"{both}; {names[0]}'s call was judged {outcomes[0].label}, {names[1]}'s {outcomes[1].label}."
    own, other = (_own_values(context, call) for context, call in zip(sides, calls, strict=True))
    shown = [listed([quoted(value, 60) for value in sorted(part)], most=3) for part in (own - other, other - own)]
    if own == other:
        return None
    if not all(shown):
        giving, other_one = names if shown[0] else names[::-1]
        return f"{both}; {giving} gives {shown[0] or shown[1]}, and {other_one} does not."
    return f"{both}, {names[0]} with {shown[0]}, {names[1]} with {shown[1]}."


def _own_values(context: TrajectoryContext, position: str) -> set[str]:
    """The values in a call's arguments that no answer gave, without sentences, and without the folders of paths."""
    given = "\n".join(str(edge.value) for edge in context.graph.edges if edge.consumer == position)
    return {last_segment(value) for value in context.mentions[position] if " " not in value and value not in given}


def _side(context: TrajectoryContext, number: int) -> PartingSide:
    """What one trajectory did from the call on at which the two part."""
    after = list(context.rows)[number : number + _TOLD]
    told = [f"{call} {context.rows[call].tool or '?'} ({context.rows[call].outcome.label})" for call in after]
    name = f"{context.trajectory.model}:{context.trajectory.id}"
    return PartingSide(trajectory=name, call=after[0] if after else None, did=tuple(told))
