"""How a run is made, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from replay.interpreter import ServerEvent
from replay.records import RuleSpec
from replay.replayer import ReplayManner


@dataclass(frozen=True)
class Options:
    """How a run is made."""

    jobs: int = 4
    """Trajectories side by side."""
    instances: int = 1
    """Processes of each server without state."""
    only: str | None = None
    """Glob over `server/tool`; other calls are not judged."""
    limit: int | None = None
    """At most so many trajectories of each file."""
    trials: int = 1
    allow_effects: frozenset[str] = frozenset()
    rebinding: bool = True
    offline: bool = False
    labels: tuple[RuleSpec, ...] = ()
    """What a person said that answers mean, as rules for every server."""
    keep_inconclusive: bool = False
    """Leave what the environment kept from its verdict; by default such calls are tried again."""
    on_done: Callable[[int], None] | None = None
    """Is told the run's row of each trajectory as soon as all of its calls have their verdicts."""

    @property
    def manner(self) -> ReplayManner:
        """What of it concerns a single trajectory."""
        return ReplayManner(trials=self.trials, rebinding=self.rebinding, wanted=self.wanted)

    def wanted(self, name: str) -> bool:
        """Whether a `server/tool` is to be judged."""
        return self.only is None or fnmatchcase(name, self.only)


@dataclass
class Progress:
    """How far a run is; the front end reads it as often as it likes."""

    total: int = 0
    done: int = 0
    kept: int = 0
    """Of the done ones, those that had their verdict from an earlier run."""
    retried: int = 0
    """Calls of an earlier run that the environment had kept from their verdict, and that are tried again."""
    not_repeated: int = 0
    """Calls with effects that an earlier run sent; they count with the answers of then."""
    servers: dict[str, ServerEvent] = field(default_factory=dict)
    stage: str | None = None
    """What happens before the first call is judged; None where calls are judged."""
    by_worker: dict[str, int] = field(default_factory=dict)
    """Calls that each worker judged, where there are several."""
    given_again: int = 0
    """Trajectories that were given to another worker, since theirs was lost."""
    notes: list[str] = field(default_factory=list)
    """What a person should know when it is done."""
