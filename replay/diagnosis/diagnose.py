"""A whole run, case by case: the findings of every call and trajectory, and what they show together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.diagnosis.findings import findings_of_call
from replay.diagnosis.trajectory import findings_of_trajectory
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.runfile import Run
from replay.runfile.lookup import TrajectoryPlace, trajectory_places


@dataclass(frozen=True)
class Diagnosed:
    """One call, without the weight of its case."""

    row: CallRow
    findings: tuple[Finding, ...]
    behind_gap: bool = False
    """An earlier call of its trajectory was not re-issued, so its own answer may differ for that alone."""


@dataclass(frozen=True)
class Diagnosis:
    """One trajectory's findings."""

    case: TrajectoryContext
    calls: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """By position; calls about which there is nothing to say are left out."""
    together: tuple[Finding, ...] = ()
    """Those of the trajectory as a whole."""

    def compact(self) -> Iterator[Diagnosed]:
        """Each call with its findings, without the weight of the case."""
        for position, row in self.case.rows.items():
            behind = self.case.step_of[position] > self.case.first_unsent
            yield Diagnosed(row, self.calls.get(position, ()), behind)


def diagnose(case: TrajectoryContext) -> Diagnosis:
    """The findings of a trajectory and its calls."""
    found = {position: findings_of_call(case, position) for position in case.rows}
    return Diagnosis(case, {position: one for position, one in found.items() if one}, findings_of_trajectory(case))


def diagnoses(run: Run, places: list[TrajectoryPlace] | None = None) -> Iterator[Diagnosis]:
    """The trajectories of a run, one at a time, in the order in which they were read."""
    servers = run.servers()
    for place in trajectory_places(run) if places is None else places:
        yield diagnose(TrajectoryContext.load(run, place, servers))


def diagnosed_calls(run: Run) -> Iterator[Diagnosed]:
    """Every call with its findings."""
    for diagnosis in diagnoses(run):
        yield from diagnosis.compact()
