"""The memory of a replay that a run file is."""

from __future__ import annotations

from collections.abc import Mapping

from replay.records import CallResult
from replay.runfile.run import Run
from replay.runfile.trajectory_state import TrajectoryState


class RunCheckpoint:
    """The checkpoint that a run file is."""

    def __init__(self, run: Run, state: TrajectoryState, ordinals: Mapping[str, int], *, stored: bool) -> None:
        self._run, self._state, self._ordinals, self._stored = run, state, ordinals, stored
        self.kept_effects: dict[str, CallResult] = dict(state.results)
        self.saved: dict[str, CallResult] = {}
        self._effects: set[str] = set()

    @property
    def results(self) -> Mapping[str, CallResult]:
        """Calls to shared servers that an interrupted replay finished; none where all is judged anew."""
        return {} if self._stored else self._state.results

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

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server."""
        if self._stored:
            return
        effects = result.call.position in self._effects
        if effects:
            self.kept_effects[result.call.position] = result
        self.saved[result.call.position] = result
        self._run.save_call(self._state.row, self._ordinals[result.call.position], result, at_once=effects)


class ReadOnlyCheckpoint:
    """The checkpoint of a second trial: what has effects outside the sandbox is not sent again."""

    def __init__(self, first: RunCheckpoint) -> None:
        self.results: Mapping[str, CallResult] = first.kept_effects
        self.in_flight = first.in_flight

    def before_send(self, position: str, *, effects: bool) -> None:
        """A trial leaves no trace."""

    def keep(self, result: CallResult) -> None:
        """A trial leaves no trace."""
