"""What survives a crash in the middle of a trajectory, as the replayer sees it; a run file keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from replay.records import CallResult


class Checkpoint(Protocol):
    """The memory of one trajectory's replay, which survives a crash."""

    @property
    def results(self) -> Mapping[str, CallResult]:
        """Calls to shared servers that an earlier, interrupted replay finished: they are not sent again."""

    @property
    def in_flight(self) -> frozenset[str]:
        """Calls with effects that had been sent when the replay was cut off: their fate is unknown."""

    def before_send(self, position: str, *, effects: bool) -> None:
        """Note that a call is about to be sent to a shared server."""

    def keep(self, result: CallResult) -> None:
        """Keep the verdict of a call to a shared server at once."""
