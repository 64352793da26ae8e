"""What went right after a failed call: a later one that did what it was to do.

A later success counts only where it asks for the same: its arguments are those of the failed call but for the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rapidfuzz import fuzz

from replay.dag.documents import parts
from replay.diagnosis.error_answers import error_findings
from replay.diagnosis.phrasing import counted, listed, quoted
from replay.diagnosis.tools_meant import tools_meant
from replay.diagnosis.trajectory_context import TrajectoryContext, last_segment
from replay.records import Outcome
from replay.records.finding import Finding

_NEAR: Final = 60.0
_NEAR_PROGRAM: Final = 80.0
"""Two commands, queries or programs share many words whatever they are to do."""
_SEGMENTS: Final = re.compile(r"&&|\|\|?|;|\n")
_SETTINGS: Final = frozenset({"cd", "export", "set", "sudo", "source", "pip", "import", "from"})
"""First words of what only prepares a program."""
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
    """After a failed call, the first of the same tool, or of the tool meant, that asked for the same and succeeded."""
    row = context.rows[position]
    meant = {row.tool} if row.outcome is not Outcome.UNKNOWN_TOOL else set(tools_meant(context, position))
    for later, later_row in context.rows.items():
        if context.step_of[later] <= context.step_of[position] or later_row.outcome is not Outcome.SUCCESS:
            continue
        if later_row.tool in meant and _asks_for_the_same(context, position, later):
            difference = _difference(context, position, later)
            return Repair(position, later, context.order[later] - context.order[position], difference)
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
    row = context.rows[repair.failed]
    if row.outcome is Outcome.UNKNOWN_TOOL:
        return f"called {quoted(context.rows[repair.succeeded].tool or '?')}"
    return "called the same tool" if repair.difference else "was the same call, unchanged,"


def _asks_for_the_same(context: TrajectoryContext, position: str, later: str) -> bool:
    """Whether the later call's arguments are those of the failed one but for its fault."""
    failed, new = context.arguments(position), context.arguments(later)
    if failed == new:
        return True
    if not failed or not new:
        return False
    shared = failed.keys() & new.keys()
    changed = [name for name in shared if failed[name] != new[name]]
    against_schema = {_outermost(violation.pointer) for violation in context.rows[position].violations} - {""}
    if context.rows[position].outcome is Outcome.UNKNOWN_TOOL:
        same = sorted(map(_text, failed.values())) == sorted(map(_text, new.values()))
        return same or (bool(shared) and all(_is_near(failed[name], new[name]) for name in changed))
    if not shared:
        return bool(against_schema) and sorted(map(_text, failed.values())) == sorted(map(_text, new.values()))
    if len(changed) > 1 and not set(changed) <= against_schema | _blamed(context, position):
        return False
    return all(name in against_schema or _is_near(failed[name], new[name]) for name in changed)


def _blamed(context: TrajectoryContext, position: str) -> set[str]:
    """The arguments of which the error speaks."""
    return {_outermost(finding.pointer) for finding in error_findings(context, position) if finding.pointer}


def _outermost(pointer: str) -> str:
    return next(iter(parts(pointer)), "")


def _is_near(failed: Any, later: Any) -> bool:
    """Whether a value can be another one put right."""
    if failed == later:
        return True
    if type(failed) is not type(later) or isinstance(failed, bool | int | float):
        return False
    old, new = _text(failed)[:_MAX_COMPARED].strip(), _text(later)[:_MAX_COMPARED].strip()
    if isinstance(failed, str) and any(map(str.isspace, old)):
        return old in new or (_programs(old) <= _programs(new) and fuzz.ratio(old, new) >= _NEAR_PROGRAM)
    if isinstance(failed, str) and "/" in old:
        old, new = last_segment(old), last_segment(new)
    return fuzz.ratio(old, new) >= _NEAR


def _programs(text: str) -> frozenset[str]:
    """What a command line starts: the first words of its parts, without what only prepares it."""
    first = (segment.split(maxsplit=1)[0] for segment in _SEGMENTS.split(text) if segment.strip())
    return frozenset(word for word in first if word not in _SETTINGS)


def _difference(context: TrajectoryContext, position: str, later: str) -> str:
    """What the later call has otherwise, argument by argument."""
    old, new = context.arguments(position), context.arguments(later)
    changed = [f"{quoted(key)} is {quoted(new[key], 60)}" for key in new if key in old and old[key] != new[key]]
    added = [f"{quoted(key)} is given: {quoted(new[key], 60)}" for key in new if key not in old]
    removed = [f"{quoted(key)} is left out" for key in old if key not in new]
    return listed([*changed, *added, *removed], most=_MAX_NAMED)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
