"""Where the workers are."""

from __future__ import annotations

from dataclasses import dataclass

from replay.errors import ReplayError


class ClusterError(ReplayError):
    """The scheduler or the workers cannot be used, or are gone."""


@dataclass(frozen=True)
class Place:
    """Local processes, or a scheduler that is there; one of both is given."""

    workers: int | None = None
    """How many processes are started here."""
    scheduler: str | None = None
    """The address of a Dask scheduler, such as `tcp://10.0.0.1:8786`."""
    threads: int = 1
    """Trajectories side by side in each process that is started here."""

    @property
    def is_local(self) -> bool:
        """Whether the workers share this machine, its files and its environment."""
        return self.scheduler is None

    def __str__(self) -> str:
        return self.scheduler or "this machine"
