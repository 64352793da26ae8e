"""Fingerprints of failures, the same for the same mistake in another run, task or model; and failures by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from replay.diagnosis import TrajectoryContext, findings_of_call
from replay.diagnosis.failure_words import failure_words
from replay.diagnosis.run_findings import SECONDARY
from replay.records import FAILURES, Outcome, digest
from replay.records.files import CallRow
from replay.records.finding import (
    FINGERPRINT_LENGTH,
    CallRef,
    Finding,
    KnownFailure,
    RecurringFailure,
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
    tool = folded_name(row.tool or context.calls[row.call].name)
    return digest([tool, row.rule, *_cause(context, row, findings)])[:FINGERPRINT_LENGTH]


def folded_name(tool: str | None) -> str:
    """`server/tool` and `server-tool` are one name: how it is told apart depends on the fleet that was known."""
    return re.sub(r"[^a-z0-9]+", " ", (tool or "").lower())


def cause_in_any_tool(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> str:
    """Digest of why a call failed, the same whatever tool it was to."""
    return digest(_cause(context, row, findings))


def _cause(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> list[object]:
    """The finding, its place, and the error's words without volatile values."""
    finding = primary_finding(findings)
    kind = finding.kind if finding else ""
    place = re.sub(r"/\d+(?=/|$)", "/*", (finding.pointer or "") if finding else "")
    names = [str(finding.details[key]) for key in ("expected", "found") if key in finding.details] if finding else []
    by_place = kind in _TOLD_BY_PLACE
    return [
        kind,
        place,
        names if kind in {"missing-field", "misnamed-field"} else [],
        "" if by_place else _words(context, row, finding),
    ]


def primary_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """The most telling finding of a call; those that say something beside why it failed do not count."""
    return next((finding for finding in findings if finding.kind not in SECONDARY), None)


def _words(context: TrajectoryContext, row: CallRow, finding: Finding | None) -> str:
    """The words of the error; none where the call itself is the error: what it holds differs each time."""
    if row.outcome in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL):
        return ""
    program = finding is not None and finding.kind == "program-failed"  # all that it printed stands in the answer
    text = finding.sentence if finding is not None and program else context.answer_text(row.call)
    words = failure_words(text, context.calls[row.call], context.drawn)
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
    return recurring_failures([(str(run.path), failed_calls(run, files))], known or {})


def recurring_failures(
    runs: Sequence[tuple[str, Iterable[FailedCall]]], known: Mapping[str, KnownFailure]
) -> tuple[RecurringFailure, ...]:
    """The failures of several runs by their fingerprints: new ones, then those still there, then those that are gone.

    Args:
        runs: each run's name and failed calls, the oldest first.
        known: what is noted of failures.
    """
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
