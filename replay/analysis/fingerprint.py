"""A failure's fingerprint: the same for the same mistake in another run, another task or another model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from replay.analysis.diff import diff_runs, run_summary
from replay.diagnosis import TrajectoryContext, findings_of_call
from replay.diagnosis.error_answers import normalized_error
from replay.diagnosis.run_findings import SECONDARY
from replay.errors import UsageError
from replay.records import FAILURES, Outcome, digest
from replay.records.comparison import RunDiff
from replay.records.files import CallRow
from replay.records.finding import (
    FINGERPRINT_LENGTH,
    CallRef,
    Finding,
    History,
    KnownFailure,
    RecurringFailure,
    RunChange,
)
from replay.runfile import Run
from replay.runfile.trajectory_queries import failing_trajectories

_TOLD_BY_PLACE: Final = frozenset(
    {"missing-field", "misnamed-field", "unexpected-field", "wrong-type", "not-a-choice", "out-of-bounds"}
)
"""Findings that their place in the arguments tells apart; the error's words beside them differ by server version."""
_MAX_END: Final = 160
"""Characters of an error's beginning and of its end: between them stands what a program printed."""


def fingerprint(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> str | None:
    """Twelve hexadecimal digits over tool, rule, finding, its place, and the error's words without volatile values.

    Args:
        context: of the call.
        row: its verdict.
        findings: of the call, as they were diagnosed.

    Returns:
        None where the call is not a failure.
    """
    if row.outcome not in FAILURES:
        return None
    finding = primary_finding(findings)
    kind = finding.kind if finding else ""
    place = re.sub(r"/\d+(?=/|$)", "/*", (finding.pointer or "") if finding else "")
    names = [str(finding.details[key]) for key in ("expected", "found") if key in finding.details] if finding else []
    by_place = kind in _TOLD_BY_PLACE
    parts = [
        re.sub(r"[^a-z0-9]+", " ", (row.tool or context.calls[row.call].name or "").lower()),
        row.rule,
        kind,
        place,
        names if kind in {"missing-field", "misnamed-field"} else [],
        "" if by_place else _words(context, row, finding),
    ]
    return digest(parts)[:FINGERPRINT_LENGTH]


def primary_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """The most telling finding of a call; those that say something beside why it failed do not count."""
    return next((finding for finding in findings if finding.kind not in SECONDARY), None)


def _words(context: TrajectoryContext, row: CallRow, finding: Finding | None) -> str:
    """The words of the error; none where the call itself is the error: what it holds differs each time."""
    if row.outcome in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL):
        return ""
    program = finding is not None and finding.kind == "program-failed"  # all that it printed stands in the answer
    text = finding.sentence if finding is not None and program else context.answer_text(row.call)
    words = normalized_error(text, context.calls[row.call])
    return words if len(words) <= 2 * _MAX_END else f"{words[:_MAX_END]} … {words[-_MAX_END:]}"


class FailedCall(NamedTuple):
    """A failed call, with the fingerprint of its failure."""

    fingerprint: str
    row: CallRow
    ref: CallRef
    finding: Finding | None


def failed_calls(run: Run, files: Sequence[int] | None = None) -> Iterator[FailedCall]:
    """The failed calls of a run, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: only of these, by the run's numbers; by default of all.
    """
    servers = run.servers()
    for place in failing_trajectories(run, files):
        context = TrajectoryContext.load(run, place, servers)
        for position, row in context.rows.items():
            if row.outcome in FAILURES:
                findings = findings_of_call(context, position)
                mark = fingerprint(context, row, findings)
                assert mark is not None
                yield FailedCall(mark, row, context.ref(position), primary_finding(findings))


@dataclass
class _Tally:
    counts: list[int]
    models: dict[str, None] = field(default_factory=dict)
    runs: list[int] = field(default_factory=list)
    last: FailedCall | None = None

    def add(self, number: int, call: FailedCall) -> None:
        if self.last is None or self.runs[-1:] != [number]:
            self.last = call
        self.counts[number] += 1
        self.models[call.ref.model] = None
        if self.runs[-1:] != [number]:
            self.runs.append(number)


def failures_of(
    run: Run, known: Mapping[str, KnownFailure] | None = None, files: Sequence[int] | None = None
) -> tuple[RecurringFailure, ...]:
    """The failures of one run, the most frequent first."""
    return _gathered([(str(run.path), failed_calls(run, files))], known or {})


@dataclass(frozen=True)
class GatheredRuns:
    """Several runs, the oldest first, and their failed calls: gathered once, since that reads every trajectory."""

    runs: Sequence[Run]
    names: Sequence[str]
    calls: Sequence[Sequence[FailedCall]]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> GatheredRuns:
        """Read the runs.

        Raises:
            UsageError: a run without verdicts.
        """
        names = _names(runs)
        for run, name in zip(runs, names, strict=True):
            if not run.has_verdicts():
                raise UsageError(f"{name}: this run has no verdicts yet; make some with: replay classify")
        return cls(runs, names, [list(failed_calls(run)) for run in runs])

    def failures(self, known: Mapping[str, KnownFailure]) -> tuple[RecurringFailure, ...]:
        """The failures: those that are new, still there, and gone."""
        return _gathered(list(zip(self.names, self.calls, strict=True)), known)

    def history(self, known: Mapping[str, KnownFailure]) -> History:
        """How the runs did, what changed from each to the next, and the failures."""
        sides = list(zip(self.runs, self.names, strict=True))
        return History(
            runs=tuple(run_summary(run, name) for run, name in sides),
            changes=tuple(_change(*before, *after) for before, after in pairwise(sides)),
            failures=self.failures(known),
        )

    def new_failed_calls(self, known: Mapping[str, KnownFailure], comparison: RunDiff | None) -> int:
        """How many calls of the last run fail in a way that is new, and that nobody noted.

        New is a failure that no earlier run has, and a failed call that only the second of two compared runs has.
        """
        *earlier, last = self.calls
        seen = {call.fingerprint for calls in earlier for call in calls}
        changes = comparison.new_failures if comparison else ()
        added = {(change.model, change.trajectory, change.call) for change in changes}
        return sum(
            call.fingerprint not in known
            and (call.fingerprint not in seen or (call.ref.model, call.ref.trajectory, call.ref.call) in added)
            for call in last
        )


def _names(runs: Sequence[Run]) -> list[str]:
    """The names of the runs; one that is given twice is told apart by its place."""
    names = [str(run.path) for run in runs]
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} ({number})" for number, name in enumerate(names, 1)]


def _gathered(
    runs: Sequence[tuple[str, Iterable[FailedCall]]], known: Mapping[str, KnownFailure]
) -> tuple[RecurringFailure, ...]:
    tallies: dict[str, _Tally] = {}
    for number, (_, calls) in enumerate(runs):
        for call in calls:
            tallies.setdefault(call.fingerprint, _Tally([0] * len(runs))).add(number, call)
    found = [_recurring(mark, tally, [name for name, _ in runs], known) for mark, tally in tallies.items()]
    return tuple(sorted(found, key=_order))


def _order(failure: RecurringFailure) -> tuple[int, int, int, str]:
    """New, then still there, then gone; within each the most frequent first."""
    stage = 2 if not failure.counts[-1] else 1 if any(failure.counts[:-1]) else 0
    return stage, -failure.counts[-1], -failure.calls, failure.fingerprint


def _recurring(mark: str, tally: _Tally, names: Sequence[str], known: Mapping[str, KnownFailure]) -> RecurringFailure:
    assert tally.last is not None
    row, finding = tally.last.row, tally.last.finding
    return RecurringFailure(
        fingerprint=mark,
        tool=row.tool or "",
        outcome=row.outcome,
        rule=row.rule,
        finding=finding.kind if finding else None,
        sentence=finding.sentence if finding else row.message,
        counts=tuple(tally.counts),
        models=tuple(tally.models),
        first_seen=names[tally.runs[0]],
        last_seen=names[tally.runs[-1]],
        example=tally.last.ref,
        known=known.get(mark),
    )


def _change(first: Run, first_name: str, second: Run, second_name: str) -> RunChange:
    try:
        comparison = diff_runs(first, second)
    except UsageError as why:
        return RunChange(before=first_name, after=second_name, common=0, worse=0, better=0, note=str(why))
    return RunChange(
        before=first_name,
        after=second_name,
        common=comparison.common,
        worse=len(comparison.worse),
        better=len(comparison.better),
    )
