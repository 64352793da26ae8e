"""The findings of calls, of trajectories and of a whole run, found and kept; of a call the most telling first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from replay.diagnosis.environment import environment_finding
from replay.diagnosis.error_answers import error_findings
from replay.diagnosis.format_and_registry import format_finding, unknown_tool_finding
from replay.diagnosis.phrasing import counted, listed, place, plain, quoted
from replay.diagnosis.provenance import provenance_findings
from replay.diagnosis.repairs import later_findings
from replay.diagnosis.schema_violations import schema_findings
from replay.diagnosis.trajectory_context import TrajectoryContext, explains
from replay.diagnosis.trajectory_findings import findings_of_trajectory, wrong_tools
from replay.outcomes.input_schema import check_schema
from replay.records import FAILURES, Certainty, Outcome, Server, Trajectory
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.runfile import Run
from replay.runfile.task_runs import FindingRow, keep_findings, undiagnosed
from replay.runfile.trajectory_queries import TrajectoryPlace, place_of_row, trajectory_places

_FLUSH_EVERY: Final = 100
"""Trajectories whose findings are committed together."""
WHOLE: Final = -1
"""The ordinal of a finding that is about no call in particular."""
_SURE: Final[tuple[Certainty, ...]] = ("fallback", "likely", "certain")


def findings_of_call(context: TrajectoryContext, position: str) -> tuple[Finding, ...]:
    """What is wrong with one call and what would have been right; the most telling first.

    Empty where there is nothing to say, or the call has no verdict.
    """
    return tuple(_findings(context, position)) if position in context.rows else ()


def _findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    row = context.rows[position]
    if row.outcome is Outcome.ILLEGAL_FORMAT:
        yield format_finding(context, position)
    elif row.outcome is Outcome.UNKNOWN_TOOL:
        yield unknown_tool_finding(context, position)
    of_schema: list[Finding] = []
    if row.violations or row.outcome is Outcome.INVALID_ARGUMENTS:
        of_schema = schema_findings(context, position)
        yield from of_schema
    if row.outcome in FAILURES and not of_schema:
        yield from error_findings(context, position)
    yield from provenance_findings(context, position)
    if row.outcome is Outcome.INCONCLUSIVE and row.reason is not None:
        yield environment_finding(context, position, row.reason)
    if row.outcome in FAILURES:
        yield from later_findings(context, position)
    yield from _caused(context, position)
    yield from _noted(context, position)
    yield from _flaky(context, position)
    yield from _moved(context, position)
    yield from _rebound(context, position)
    if context.aligned is not None:
        yield from wrong_tools(context, position, context.aligned)


def _caused(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    cause = context.rows[position].caused_by
    if cause is None or not explains(context, cause, position):
        return
    root = context.rows[cause]
    yield context.finding(
        position,
        "follows-from",
        f"The failure follows from {cause} ({plain(root.tool or '?', 80)}), which was judged {root.outcome.label}.",
        f"Look at {cause} first.",
        calls=context.refs(position, cause),
        certainty="likely",
    )


def _noted(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What the verdict notes beside its outcome: a reader of the outcome alone would miss it."""
    noted, tool = context.rows[position].findings, context.tool(position)
    if "partial" in noted:
        answer = plain(context.answer_text(position), 240)
        sentence = f"The call succeeded in part: its answer reports errors beside what was done: {answer}."
        yield context.finding(position, "partial", sentence, certainty="certain")
    if "empty" in noted and context.only_reads(position):
        yield context.finding(position, "empty-answer", "The call succeeded and brought nothing.", certainty="certain")
    if "refused-though-valid" in noted and tool is not None:
        yield context.finding(
            position,
            "refused-though-valid",
            "The arguments keep to the tool's inputSchema, and the server's own check refuses them.",
            "The schema of the tool should say what the server demands.",
            certainty="certain",
        )
    if "schema-not-checked" in noted and tool is not None:
        why = check_schema(tool, context.arguments(position)).unchecked or "it is beyond the limits"
        sentence = f"The arguments were not held against all of the tool's inputSchema: {plain(why, 200)}."
        yield context.finding(position, "schema-not-checked", sentence, certainty="certain")


def _flaky(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    trials = context.rows[position].trials or {}
    if len(trials) > 1:
        seen = listed([f"{Outcome(outcome).label} {count}x" for outcome, count in trials.items()])
        sentence = f"Re-issued unchanged, the call was judged differently: {seen}."
        yield context.finding(position, "flaky", sentence, certainty="certain")


def _moved(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    row = context.rows[position]
    if row.recorded is None or row.replayed is None or row.recorded is row.replayed:
        return
    why = {
        "environment": "where it ran differs, not the call",
        "server-version": "the server answers differently now",
        "volatile": "only volatile values differ between the answers",
        "state-gap": f"{row.gap or 'a call before it'} did not happen again as recorded",
    }.get(row.divergence or "", "")
    reason = f": {why}" if why else ""
    sentence = f"Recorded it was {row.recorded.label}, replayed it is {row.replayed.label}{reason}."
    yield context.finding(position, "outcome-moved", sentence, certainty="certain")


def _rebound(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    rebound = context.rows[position].rebound
    if rebound:
        first = rebound[0]
        more = f", and {counted(len(rebound) - 1, 'other value')} likewise" if len(rebound) > 1 else ""
        sentence = (
            f"{place(first.pointer)} was sent as {quoted(first.replayed, 60)} instead of {quoted(first.recorded, 60)}: "
            f"{first.producer} gave another value on replay{more}."
        )
        yield context.finding(position, "rebound", sentence[:1].upper() + sentence[1:], certainty="certain")


@dataclass(frozen=True)
class Diagnosed:
    """One call, without the weight of its context."""

    row: CallRow
    findings: tuple[Finding, ...]
    behind_gap: bool = False
    """An earlier call of its trajectory was not re-issued, so its own answer may differ for that alone."""


@dataclass(frozen=True)
class Diagnosis:
    """One trajectory's findings."""

    context: TrajectoryContext
    calls: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """By position; calls about which there is nothing to say are left out."""
    together: tuple[Finding, ...] = ()
    """Those of the trajectory as a whole."""

    def compact(self) -> Iterator[Diagnosed]:
        """Each call with its findings, without the weight of the context."""
        for position, row in self.context.rows.items():
            behind = self.context.step_of[position] > self.context.first_unsent
            yield Diagnosed(row, self.calls.get(position, ()), behind)


def diagnose(context: TrajectoryContext) -> Diagnosis:
    """The findings of a trajectory and its calls."""
    found = {position: findings_of_call(context, position) for position in context.rows}
    return Diagnosis(
        context,
        {position: findings for position, findings in found.items() if findings},
        findings_of_trajectory(context),
    )


def diagnoses(run: Run, places: list[TrajectoryPlace] | None = None) -> Iterator[Diagnosis]:
    """The trajectories of a run, one at a time, in the order in which they were read."""
    servers = run.servers()
    for trajectory in trajectory_places(run) if places is None else places:
        yield diagnose(TrajectoryContext.load(run, trajectory, servers))


class FindingStore:
    """Finds and keeps the findings of trajectories that have their verdicts.

    Args:
        run: open for writing.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._servers: Mapping[str, Server] | None = None

    def keep(self, row: int, trajectory: Trajectory | None = None) -> None:
        """Find what one trajectory shows, and keep it in the place of what was known; `Run.flush` commits it.

        Args:
            row: of the trajectory, with a verdict for every call.
            trajectory: as the run holds it; by default it is read.
        """
        trajectory_place = place_of_row(self._run, row)
        if trajectory_place is None:
            return
        if self._servers is None:
            self._servers = self._run.servers()
        context = TrajectoryContext.load(self._run, trajectory_place, self._servers, trajectory)
        keep_findings(self._run.connection, row, rows_of(diagnose(context)))

    def keep_missing(self) -> int:
        """Do so for every trajectory that is done and has not been looked at; how many those were."""
        places = undiagnosed(self._run.connection)
        for number, row in enumerate(places, 1):
            self.keep(row)
            if number % _FLUSH_EVERY == 0:
                self._run.flush()
        self._run.flush()
        return len(places)


def rows_of(diagnosis: Diagnosis) -> list[FindingRow]:
    """The findings of a trajectory and its calls, one row for those of a kind about the same call."""
    order = diagnosis.context.order
    found = [(order[position], finding) for position, those in diagnosis.calls.items() for finding in those]
    found += [
        (order.get(finding.calls[0].call, WHOLE) if finding.calls else WHOLE, finding) for finding in diagnosis.together
    ]
    certainties: dict[tuple[int, str], list[Certainty]] = defaultdict(list)
    for ordinal, finding in found:
        certainties[ordinal, finding.kind].append(finding.certainty)
    return [
        FindingRow(ordinal, kind, max(those, key=_SURE.index), len(those))
        for (ordinal, kind), those in certainties.items()
    ]
