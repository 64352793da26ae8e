"""What survives a crash in the middle of a trajectory, as the replayer sees it; a run file keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from replay.formats.results_file import ResultsFile
from replay.outcomes import Registry
from replay.records import Answer, Call, CallResult, Trajectory
from replay.replayer.recorded_names import with_fleet_names
from replay.runfile.effects_journal import (
    EffectKey,
    EffectsJournal,
    Origin,
    SentCall,
    effect_keys,
    is_there,
)
from replay.runfile.run import Run
from replay.runfile.trajectory_state import TrajectoryState


class Checkpoint:
    """The memory of one trajectory's replay. This one forgets; others survive a crash."""

    results: Mapping[str, CallResult] = {}
    """Calls to shared servers that an earlier, interrupted replay finished: they are not sent again."""

    def __init__(self) -> None:
        self.saved: dict[str, CallResult] = {}
        """Verdicts that were kept, by position."""
        self.not_repeated: set[EffectKey] = set()
        """Calls that an earlier replay sent, and this one therefore did not."""
        self._sent: dict[EffectKey, SentCall] = {}

    def sent_before(self, key: EffectKey) -> SentCall | None:
        """What is known of a call with effects outside a sandbox that was sent; None where it was not."""
        if key not in self._sent:
            found = self._found(key)
            if found is None or not found.is_placed:
                return found
            self._sent[key] = found
            self.not_repeated.add(key)
        return self._sent[key]

    def _found(self, key: EffectKey) -> SentCall | None:
        """What an earlier replay left of a call."""
        return None

    async def before_send(self, key: EffectKey) -> None:
        """Note that a call with effects outside a sandbox is about to be sent; it is noted for good on return."""

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Keep what such a call got; once more, with what its server wrote to stderr, where that is known later."""

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server."""


def keys_of(calls: Iterable[Call], registry: Registry) -> dict[str, EffectKey]:
    """The keys of calls, by position, under the names that the fleet gives their servers."""
    named = ((call, registry.read(call)) for call in calls)
    return effect_keys((call.position, name.server or "", name.tool, call.arguments or {}) for call, name in named)


class InputCalls:
    """The calls of the files that are judged now; each file is read when it is first asked about.

    Args:
        files: by absolute path.
        registry: tells which server and tool a call names.
    """

    def __init__(self, files: Mapping[str, ResultsFile], registry: Registry) -> None:
        self._files, self._registry = files, registry
        self._known: dict[str, frozenset[int]] = {}
        self.unplaced: frozenset[EffectKey] = frozenset()
        """Calls of these files that may have been sent: see `find_unplaced`."""

    def find_unplaced(self, entries: Iterable[tuple[Origin, EffectKey]]) -> list[Origin]:
        """Find what was sent for trajectories that are gone, and that nothing here is known to be.

        They may have been renamed and edited, so that neither their ids nor their questions are what they were. Calls
        like theirs are not sent.

        Returns:
            Where those stood.
        """
        lost = [
            (origin, key)
            for origin, key in entries
            if not self.still_holds(*origin[:2], key) and (origin.path in self._files or not is_there(origin.path))
        ]
        holders: dict[EffectKey, set[tuple[str, str]]] = {}
        for path, file in self._files.items() if lost else ():
            for trajectory in file.trajectories():
                here = Origin.of(path, trajectory)
                for key in keys_of(self._named(trajectory), self._registry).values():
                    holders.setdefault(key, set()).update((("id", here.trajectory), ("question", here.question)))
        found = [
            (origin, key)
            for origin, key in lost
            if key in holders and holders[key].isdisjoint((("id", origin.trajectory), ("question", origin.question)))
        ]
        self.unplaced = frozenset(key for _, key in found)
        return list(dict.fromkeys(origin for origin, _ in found))

    def still_holds(self, path: str, trajectory: str, key: EffectKey) -> bool:
        """Whether a file still has a trajectory of that id with that call.

        Of a file that is not judged now only its being there is known.
        """
        if path not in self._files:
            return Path(path).exists()
        if path not in self._known:
            self._known[path] = frozenset(self._read(self._files[path].trajectories))
        return hash((trajectory, key)) in self._known[path]

    def sent(self, journal: EffectsJournal, origin: Origin, key: EffectKey, earlier: int) -> SentCall | None:
        """What is known of a call that was sent; None where it was not.

        Args:
            journal: of the run.
            origin: where the call stands.
            key: of the call.
            earlier: the journal's last entry when these files began to be judged.
        """
        found = journal.find(origin, key, self.still_holds, earlier)
        return SentCall(is_placed=False) if found is None and key in self.unplaced else found

    def _read(self, trajectories: Callable[[], Iterable[Trajectory]]) -> Iterable[int]:
        for trajectory in trajectories():
            for key in keys_of(self._named(trajectory), self._registry).values():
                yield hash((trajectory.id, key))

    def _named(self, trajectory: Trajectory) -> Iterable[Call]:
        return with_fleet_names(trajectory, self._registry.servers).calls()


class RunCheckpoint(Checkpoint):
    """The checkpoint that a run file is.

    Args:
        run: open for writing.
        state: how far an earlier process came.
        trajectory: whose calls they are.
        origin: where the calls stand.
        inputs: the files that are judged now.
        earlier: the journal's last entry when these files began to be judged.
    """

    def __init__(
        self,
        run: Run,
        state: TrajectoryState,
        trajectory: Trajectory,
        *,
        origin: Origin,
        inputs: InputCalls,
        earlier: int,
    ) -> None:
        super().__init__()
        self._run, self._row, self.results = run, state.row, state.results
        self._ordinals = {call.position: ordinal for ordinal, call in enumerate(trajectory.calls())}
        self._origin, self._inputs, self._earlier = origin, inputs, earlier

    def _found(self, key: EffectKey) -> SentCall | None:
        return self._inputs.sent(self._run.journal(), self._origin, key, self._earlier)

    async def before_send(self, key: EffectKey) -> None:
        """Write down, for good, that a call with effects is about to be sent."""
        self._sent[key] = SentCall(row=self._run.journal().note(self._origin, key))

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Keep what a call with effects got, at once: it cannot be sent again."""
        sent = self._sent[key] = self._sent[key]._replace(answer=answer, stderr=stderr)
        self._run.journal().keep(sent.row, answer, stderr)

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server."""
        self.saved[result.call.position] = result
        self._run.save_calls(self._row, {self._ordinals[result.call.position]: result})
