"""A whole run, trajectory by trajectory: the findings of every call and trajectory, and what they show together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from replay.diagnosis.call_findings import findings_of_call
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.diagnosis.trajectory_findings import findings_of_trajectory
from replay.records import Certainty, Server, Trajectory
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.runfile import Run
from replay.runfile.task_runs import FindingRow, keep_findings, undiagnosed
from replay.runfile.trajectory_queries import TrajectoryPlace, place_of_row, trajectory_places


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


_FLUSH_EVERY: Final = 100
"""Trajectories whose findings are committed together."""
WHOLE: Final = -1
"""The ordinal of a finding that is about no call in particular."""
_SURE: Final[tuple[Certainty, ...]] = ("fallback", "likely", "certain")


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
        place = place_of_row(self._run, row)
        if place is None:
            return
        if self._servers is None:
            self._servers = self._run.servers()
        context = TrajectoryContext.load(self._run, place, self._servers, trajectory)
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
    counts = Counter((ordinal, finding.kind) for ordinal, finding in found)
    surest: dict[tuple[int, str], Certainty] = {}
    for ordinal, finding in found:
        key = ordinal, finding.kind
        surest[key] = max(surest.get(key, "fallback"), finding.certainty, key=_SURE.index)
    return [FindingRow(ordinal, kind, surest[ordinal, kind], n) for (ordinal, kind), n in counts.items()]
