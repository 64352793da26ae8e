"""The same call as it later succeeded in the same trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rapidfuzz import fuzz

from replay.diagnosis.phrasing import counted, listed, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import FAILURES, JsonObject, Outcome
from replay.records.finding import Finding

_ALIKE: Final = 60.0
_MAX_COMPARED: Final = 2000
_MAX_NAMED: Final = 3


class Repair(NamedTuple):
    """A failed call and the later one that did what it was to do."""

    failed: str
    succeeded: str
    calls_later: int
    difference: str
    """What is different in the later call."""


def repair_of(context: TrajectoryContext, position: str) -> Repair | None:
    """The first later call of the same tool, or of the tool that was meant, with arguments alike, that succeeded."""
    row = context.rows[position]
    if row.outcome not in FAILURES:
        return None
    meant = {row.tool} if row.outcome is not Outcome.UNKNOWN_TOOL else set(row.nearest)
    for later, later_row in context.rows.items():
        if context.step_of[later] <= context.step_of[position] or later_row.outcome is not Outcome.SUCCESS:
            continue
        if later_row.tool in meant and _alike(context.arguments(position), context.arguments(later)):
            difference = _difference(context, position, later)
            return Repair(position, later, context.order[later] - context.order[position], difference)
    return None


def repair_finding(context: TrajectoryContext, position: str) -> Finding | None:
    """The later success, as a finding of the failed call."""
    repair = repair_of(context, position)
    if repair is None:
        return None
    return Finding(
        kind="later-succeeded",
        scope="call",
        sentence=f"{counted(repair.calls_later, 'call')} later, {repair.succeeded} {_again(context, repair)} "
        "and succeeded.",
        suggestion=f"As in {repair.succeeded}: {repair.difference}." if repair.difference else None,
        calls=context.refs(position, repair.succeeded),
        certainty="likely",
    )


def dependent_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """The later success of a call that took a value from this one, which failed: the task went on."""
    if context.rows[position].outcome not in FAILURES:
        return
    consumers = (edge.consumer for edge in context.graph.edges if edge.producer == position)
    later = next((consumer for consumer in consumers if context.outcome(consumer) is Outcome.SUCCESS), None)
    if later is not None:
        yield Finding(
            kind="dependent-succeeded",
            scope="call",
            sentence=f"The call failed, and {later}, which took a value from it, succeeded nevertheless.",
            calls=context.refs(position, later),
            certainty="likely",
        )


def _again(context: TrajectoryContext, repair: Repair) -> str:
    row = context.rows[repair.failed]
    if row.outcome is Outcome.UNKNOWN_TOOL:
        return f"called {quoted(context.rows[repair.succeeded].tool or '?')}"
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


def _closeness(failed: Any, later: Any) -> float:
    if failed == later:
        return 1.0
    if type(failed) is not type(later) or isinstance(failed, bool | int | float):
        return 0.0
    return fuzz.ratio(_text(failed)[:_MAX_COMPARED], _text(later)[:_MAX_COMPARED]) / 100


def _difference(context: TrajectoryContext, position: str, later: str) -> str:
    """What the later call has otherwise, argument by argument."""
    old, new = context.arguments(position), context.arguments(later)
    changed = [f"{quoted(key)} is {quoted(new[key], 60)}" for key in new if key in old and old[key] != new[key]]
    added = [f"{quoted(key)} is given: {quoted(new[key], 60)}" for key in new if key not in old]
    removed = [f"{quoted(key)} is left out" for key in old if key not in new]
    return listed([*changed, *added, *removed], most=_MAX_NAMED)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
