"""Where answers come from: live servers, or what earlier runs stored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

from replay.records import Answer, CallResult, Evidence, Trajectory


class ToolRequest(NamedTuple):
    """A call as it is about to be sent."""

    server: str
    tool: str
    arguments: dict[str, Any]
    key: str
    """Of its stored answer; see `answer_key`."""


class BackendSession(Protocol):
    """What one trajectory is replayed on: a sandbox with live servers, or the stored answers."""

    evidence: Evidence
    """`replay` or `stored`."""
    state: str
    """Digest that the trajectory's state begins with."""
    workspace_servers: frozenset[str]
    """Servers that share the trajectory's workspace."""

    def stateful(self, server: str) -> bool:
        """Whether each trajectory has a process of its own of this server."""

    def may_send(self, server: str, tool: str) -> bool:
        """Whether the effects policy lets the tool be called."""

    def has_effects(self, server: str, tool: str) -> bool:
        """Whether calling the tool changes something that outlives the trajectory."""

    async def send(self, request: ToolRequest) -> Answer | None:
        """The answer; None where none can be had (`--offline` and not stored)."""


class AnswerBackend(Protocol):
    """Makes a session for each trajectory."""

    def session(self, trajectory: Trajectory, servers: frozenset[str]) -> AbstractAsyncContextManager[BackendSession]:
        """Args: the trajectory, and the servers of the fleet that it names."""


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
