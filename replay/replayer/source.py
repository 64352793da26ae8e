"""Where answers come from: live servers, or what earlier runs stored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from replay.records import Answer, Call, Evidence, Trajectory, Verdict


class Question(NamedTuple):
    """A call as it is about to be sent."""

    server: str
    tool: str
    arguments: dict[str, Any]
    key: str
    """Of its stored answer; see `answer_key`."""


class Stage(Protocol):
    """What one trajectory is replayed on: a sandbox with live servers, or the stored answers."""

    evidence: Evidence
    """`replay` or `stored`."""
    state: str
    """Digest that the trajectory's state begins with."""
    workspace_servers: frozenset[str]
    """Servers that share the trajectory's workspace."""

    def stateful(self, server: str) -> bool:
        """Whether each trajectory has a process of its own of this server."""

    def may_ask(self, server: str, tool: str) -> bool:
        """Whether the effects policy lets the tool be called."""

    def has_effects(self, server: str, tool: str) -> bool:
        """Whether calling the tool changes something that outlives the trajectory."""

    async def ask(self, question: Question) -> Answer | None:
        """The answer; None where none can be had (`--offline` and not stored)."""


class Theatre(Protocol):
    """Makes a stage for each trajectory."""

    def stage(self, trajectory: Trajectory, servers: frozenset[str]) -> AbstractAsyncContextManager[Stage]:
        """Args: the trajectory, and the servers of the fleet that it names."""


@dataclass(frozen=True)
class Settled:
    """One call with its verdict, and what it was judged by."""

    call: Call
    verdict: Verdict
    server: str | None = None
    tool: str | None = None
    key: str | None = None
    """Of the answer that it got; None where it was not sent."""
    answer: Answer | None = None


class Notebook(Protocol):
    """The memory of one trajectory's replay, which survives a crash."""

    @property
    def settled(self) -> Mapping[str, Settled]:
        """Calls to shared servers that an earlier, interrupted replay settled: they are not sent again."""

    @property
    def in_flight(self) -> frozenset[str]:
        """Calls with effects that had been sent when the replay was cut off: their fate is unknown."""

    def before_send(self, position: str, *, effects: bool) -> None:
        """Note that a call is about to be sent to a shared server."""

    def keep(self, settled: Settled) -> None:
        """Keep the verdict of a call to a shared server at once."""
