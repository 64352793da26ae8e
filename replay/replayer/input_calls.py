"""Which calls the results files hold now, for who must know whether a call that was sent is still in its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from replay.formats import ResultsFile
from replay.outcomes import Registry
from replay.records import Call, Trajectory
from replay.records.digests import EffectKey, effect_keys
from replay.replayer.recorded_servers import with_fleet_names


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

    def still_holds(self, path: str, trajectory: str, key: EffectKey) -> bool:
        """Whether a file still has a trajectory of that id with that call.

        Of a file that is not judged now only its being there is known.
        """
        if path not in self._files:
            return Path(path).exists()
        if path not in self._known:
            self._known[path] = frozenset(self._read(self._files[path].trajectories))
        return hash((trajectory, key)) in self._known[path]

    def _read(self, trajectories: Callable[[], Iterable[Trajectory]]) -> Iterable[int]:
        for trajectory in trajectories():
            named = with_fleet_names(trajectory, self._registry.servers)
            for key in keys_of(named.calls(), self._registry).values():
                yield hash((trajectory.id, key))
