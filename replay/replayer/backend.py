"""Where answers come from, as the replayer sees it: live servers (`live_backend`), or what earlier runs stored
(`stored_backend`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, Protocol

from replay.records import Answer, Evidence, Trajectory


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
        """Whether calling the tool may change something outside the trajectory's sandbox."""

    async def send(self, request: ToolRequest, meanwhile: Callable[[], None]) -> Answer | None:
        """The answer; None where none can be had (`--offline` and not stored).

        Args:
            request: what is asked.
            meanwhile: may be called, once the request is on its way, to make use of the time.
        """

    def stderr_mark(self, server: str) -> int:
        """Where the log of the server's stderr ends now."""

    async def stderr_since(self, request: ToolRequest, mark: int) -> str:
        """The last lines that the server of a request wrote to stderr since; empty where none are known."""


class AnswerBackend(Protocol):
    """Makes a session for each trajectory."""

    def session(self, trajectory: Trajectory, servers: frozenset[str]) -> AbstractAsyncContextManager[BackendSession]:
        """A session for a trajectory; `servers` are those of the fleet that it names."""
