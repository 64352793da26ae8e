"""A whole run, trajectory by trajectory: the findings of every call and trajectory, and what they show together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.diagnosis.call_findings import findings_of_call
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.diagnosis.trajectory_findings import findings_of_trajectory
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.runfile import Run
from replay.runfile.trajectory_queries import TrajectoryPlace, trajectory_places


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
    for place in trajectory_places(run) if places is None else places:
        yield diagnose(TrajectoryContext.load(run, place, servers))


def diagnosed_calls(run: Run) -> Iterator[Diagnosed]:
    """Every call with its findings."""
    for diagnosis in diagnoses(run):
        yield from diagnosis.compact()
