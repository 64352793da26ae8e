"""What a verdict says beside its outcome: an empty answer, a rebound value, drift, what the failure follows from."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis.phrasing import counted, listed, place, plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Outcome
from replay.records.finding import Finding


def mark_findings(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What a reader of the outcome alone would miss."""
    yield from _caused(case, position)
    yield from _empty(case, position)
    yield from _refused_though_valid(case, position)
    yield from _flaky(case, position)
    yield from _moved(case, position)
    yield from _rebound(case, position)


def _finding(
    case: TrajectoryContext, position: str, kind: str, sentence: str, suggestion: str | None = None
) -> Finding:
    refs = case.refs(position)
    return Finding(kind=kind, scope="call", sentence=sentence, suggestion=suggestion, calls=refs)


def explains(case: TrajectoryContext, cause: str) -> bool:
    """Whether a failure can be what others follow from: not where it failed because the thing was there already."""
    return cause in case.rows and case.rows[cause].rule != "answer.exists-already"


def _caused(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    cause = case.rows[position].caused_by
    if cause is None or not explains(case, cause):
        return
    root = case.rows[cause]
    yield Finding(
        kind="follows-from",
        scope="call",
        sentence=f"The failure follows from {cause} ({plain(root.tool or '?', 80)}), "
        f"which came out {_words(root.outcome)}.",
        suggestion=f"Look at {cause} first.",
        calls=case.refs(position, cause),
        certainty="likely",
    )


def _empty(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    if "empty" in case.rows[position].findings and case.only_reads(position):
        yield _finding(case, position, "empty-answer", "The call succeeded and brought nothing.")


def _refused_though_valid(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    if "refused-though-valid" in case.rows[position].findings and case.tool(position) is not None:
        yield _finding(
            case,
            position,
            "refused-though-valid",
            "The arguments keep to the tool's inputSchema, and the server's own check refuses them.",
            "The schema of the tool should say what the server demands.",
        )


def _flaky(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    trials = case.rows[position].trials or {}
    if len(trials) > 1:
        seen = listed([f"{_words(Outcome(outcome))} {count}x" for outcome, count in trials.items()])
        yield _finding(case, position, "flaky", f"Re-issued unchanged, the call came out differently: {seen}.")


def _moved(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    row = case.rows[position]
    if row.recorded is None or row.replayed is None or row.recorded is row.replayed:
        return
    why = {
        "environment": "where it ran differs, not the call",
        "server-version": "the server answers differently now",
        "volatile": "only volatile values differ between the answers",
        "state-gap": f"{row.gap or 'a call before it'} could not be re-issued",
    }.get(row.divergence or "", "")
    reason = f": {why}" if why else ""
    sentence = f"Recorded it was {_words(row.recorded)}, replayed it is {_words(row.replayed)}{reason}."
    yield _finding(case, position, "outcome-moved", sentence)


def _rebound(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    rebound = case.rows[position].rebound
    if rebound:
        first = rebound[0]
        more = f", and {counted(len(rebound) - 1, 'other value')} likewise" if len(rebound) > 1 else ""
        sentence = (
            f"{place(first.pointer)} was sent as {quoted(first.replayed, 60)} instead of {quoted(first.recorded, 60)}: "
            f"{first.producer} gave another value on replay{more}."
        )
        yield _finding(case, position, "rebound", sentence[:1].upper() + sentence[1:])


def _words(outcome: Outcome) -> str:
    return str(outcome).replace("_", " ")
