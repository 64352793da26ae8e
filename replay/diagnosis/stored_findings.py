"""The findings of a run as rows of its table `findings`: counted and filtered without being found anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from replay.diagnosis.diagnose import Diagnosis, diagnose
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Certainty, Server
from replay.runfile import Run
from replay.runfile.task_runs import FindingRow, keep_findings, undiagnosed
from replay.runfile.trajectory_queries import TrajectoryPlace, place_of_row

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

    def keep(self, row: int) -> None:
        """Find what one trajectory shows, and keep it in the place of what was known; `Run.flush` commits it.

        Args:
            row: of the trajectory, with a verdict for every call.
        """
        place = place_of_row(self._run, row)
        if place is not None:
            self._keep(place)

    def keep_missing(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Do so for every trajectory that is done and has not been looked at; how many those were."""
        places = undiagnosed(self._run.connection)
        for number, row in enumerate(places, 1):
            self.keep(row)
            if number % _FLUSH_EVERY == 0:
                self._run.flush()
            if progress is not None:
                progress(number, len(places))
        self._run.flush()
        return len(places)

    def _keep(self, place: TrajectoryPlace) -> None:
        if self._servers is None:
            self._servers = self._run.servers()
        context = TrajectoryContext.load(self._run, place, self._servers)
        keep_findings(self._run.connection, place.row, rows_of(diagnose(context)))


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
