"""The memory of a replay that a run file is."""

from __future__ import annotations

from collections.abc import Mapping

from replay.replayer import Settled
from replay.runfile.run import Run, TrajectoryState


class RunNotebook:
    """The notebook that a run file is."""

    def __init__(self, run: Run, state: TrajectoryState, ordinals: Mapping[str, int], *, stored: bool) -> None:
        self._run, self._state, self._ordinals, self._stored = run, state, ordinals, stored
        self.kept_effects: dict[str, Settled] = dict(state.settled)
        self.saved: dict[str, Settled] = {}
        self._effects: set[str] = set()

    @property
    def settled(self) -> Mapping[str, Settled]:
        """Calls to shared servers that an interrupted replay settled; none where all is judged anew."""
        return {} if self._stored else self._state.settled

    @property
    def in_flight(self) -> frozenset[str]:
        """Calls with effects that were sent, and whose fate is unknown."""
        return self._state.in_flight

    def before_send(self, position: str, *, effects: bool) -> None:
        """Note that a call is about to be sent to a shared server."""
        if self._stored:
            return
        if effects:
            self._effects.add(position)
            self._run.note_sent(self._state.row, position)

    def keep(self, settled: Settled) -> None:
        """Keep the verdict of a call to a shared server."""
        if self._stored:
            return
        effects = settled.call.position in self._effects
        if effects:
            self.kept_effects[settled.call.position] = settled
        self.saved[settled.call.position] = settled
        self._run.save_call(self._state.row, self._ordinals[settled.call.position], settled, at_once=effects)


class Rehearsal:
    """The notebook of a second trial: what has effects outside the sandbox is not sent again."""

    def __init__(self, first: RunNotebook) -> None:
        self.settled: Mapping[str, Settled] = first.kept_effects
        self.in_flight = first.in_flight

    def before_send(self, position: str, *, effects: bool) -> None:
        """A trial leaves no trace."""

    def keep(self, settled: Settled) -> None:
        """A trial leaves no trace."""
