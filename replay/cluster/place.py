"""Where the workers are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from replay.errors import ReplayError


class ClusterError(ReplayError):
    """The scheduler or the workers cannot be used, or are gone."""


class LocalWorkers(Protocol):
    """Processes of this machine that have begun to start."""

    async def ready(self) -> Any:
        """Dask's cluster, when it has started."""

    def start_missing(self) -> None:
        """Start workers in the place of those that did not come back."""

    def close(self) -> None:
        """End them."""


@dataclass(frozen=True)
class Place:
    """Local processes, or a scheduler that is there; one of both is given."""

    workers: int | None = None
    """How many processes are started here."""
    scheduler: str | None = None
    """The address of a Dask scheduler, such as `tcp://10.0.0.1:8786`."""
    threads: int = 1
    """Trajectories side by side in each process that is started here."""
    kept: LocalWorkers | None = field(default=None, compare=False, repr=False)
    """The processes, where they were started before they are needed."""

    @property
    def is_local(self) -> bool:
        """Whether the workers share this machine, its files and its environment."""
        return self.scheduler is None

    def __str__(self) -> str:
        return self.scheduler or "this machine"
