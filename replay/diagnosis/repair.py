"""The same call as it later succeeded in the same trajectory."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from rapidfuzz import fuzz

from replay.diagnosis.phrasing import counted, listed, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import FAILURES, JsonObject, Outcome
from replay.records.finding import Finding

_ALIKE: Final = 60.0
_MOST_COMPARED: Final = 2000
_MOST_NAMED: Final = 3


class Repair(NamedTuple):
    """A failed call and the later one that did what it was to do."""

    failed: str
    succeeded: str
    calls_later: int
    difference: str
    """What is different in the later call."""


def repair_of(case: TrajectoryContext, position: str) -> Repair | None:
    """The first later call of the same tool, or of the tool that was meant, with arguments alike, that succeeded."""
    row = case.rows[position]
    if row.outcome not in FAILURES:
        return None
    meant = {row.tool} if row.outcome is not Outcome.UNKNOWN_TOOL else set(row.nearest)
    for later, other in case.rows.items():
        if case.step_of[later] <= case.step_of[position] or other.outcome is not Outcome.SUCCESS:
            continue
        if other.tool in meant and _alike(case.arguments(position), case.arguments(later)):
            difference = _difference(case, position, later)
            return Repair(position, later, case.order[later] - case.order[position], difference)
    return None


def repair_finding(case: TrajectoryContext, position: str) -> Finding | None:
    """The later success, as a finding of the failed call."""
    repair = repair_of(case, position)
    if repair is None:
        return None
    return Finding(
        kind="later-succeeded",
        scope="call",
        sentence=f"{counted(repair.calls_later, 'call')} later, {repair.succeeded} {_again(case, repair)} "
        "and succeeded.",
        suggestion=f"As in {repair.succeeded}: {repair.difference}." if repair.difference else None,
        calls=case.refs(position, repair.succeeded),
        certainty="likely",
    )


def _again(case: TrajectoryContext, repair: Repair) -> str:
    row = case.rows[repair.failed]
    if row.outcome is Outcome.UNKNOWN_TOOL:
        return f"called {quoted(case.rows[repair.succeeded].tool or '?')}"
    return "called the same tool" if repair.difference else "was the same call, unchanged,"


def _alike(failed: JsonObject, later: JsonObject) -> bool:
    """Whether two calls of a tool were after the same thing: most of what both give is equal, or nearly."""
    shared = failed.keys() & later.keys()
    if not failed or not later:
        return not failed and not later
    if not shared:
        return sorted(map(_text, failed.values())) == sorted(map(_text, later.values()))
    score = sum(_closeness(failed[key], later[key]) for key in shared) / len(shared)
    return score >= _ALIKE / 100


def _closeness(one: Any, other: Any) -> float:
    if one == other:
        return 1.0
    if type(one) is not type(other) or isinstance(one, bool | int | float):
        return 0.0
    return fuzz.ratio(_text(one)[:_MOST_COMPARED], _text(other)[:_MOST_COMPARED]) / 100


def _difference(case: TrajectoryContext, position: str, later: str) -> str:
    """What the later call has otherwise, argument by argument."""
    old, new = case.arguments(position), case.arguments(later)
    changed = [f"{quoted(key)} is {quoted(new[key], 60)}" for key in new if key in old and old[key] != new[key]]
    added = [f"{quoted(key)} is given: {quoted(new[key], 60)}" for key in new if key not in old]
    removed = [f"{quoted(key)} is left out" for key in old if key not in new]
    return listed([*changed, *added, *removed], most=_MOST_NAMED)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
