"""Answers that an earlier run, or a cassette, stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from replay.records import Answer, Evidence, FleetFacts, TextAnswer, Trajectory
from replay.records.trajectory import stderr_key
from replay.replayer.backend import BackendSession, ToolRequest


class StoredBackend:
    """Replays on stored answers; starts no server.

    Args:
        answers: looks a stored answer up by its key.
        facts: of the fleet that gave the answers.
    """

    def __init__(self, answers: Callable[[str], Answer | None] | Mapping[str, Answer], facts: FleetFacts) -> None:
        self._lookup = answers.get if isinstance(answers, Mapping) else answers
        self._facts = facts

    @asynccontextmanager
    async def session(self, trajectory: Trajectory, servers: frozenset[str]) -> AsyncIterator[BackendSession]:
        """The stored answers of the trajectory's calls."""
        yield _StoredSession(self._lookup, self._facts, trajectory.id)


class _StoredSession:
    evidence: Evidence = "stored"

    def __init__(self, lookup: Callable[[str], Answer | None], facts: FleetFacts, task: str) -> None:
        self._lookup, self._facts = lookup, facts
        self.state = facts.state_of(task)
        self.workspace_servers = facts.workspace_servers

    def stateful(self, server: str) -> bool:
        facts = self._facts.servers.get(server)
        return facts is not None and facts.stateful

    def may_send(self, server: str, tool: str) -> bool:
        return True

    def has_effects(self, server: str, tool: str) -> bool:
        return False

    async def send(self, request: ToolRequest, meanwhile: Callable[[], None]) -> Answer | None:
        del meanwhile  # nothing is waited for
        return self._lookup(request.key)

    def stderr_mark(self, server: str) -> int:
        return 0

    async def stderr_since(self, request: ToolRequest, mark: int) -> str:
        found = self._lookup(stderr_key(request.key))
        return found.text if isinstance(found, TextAnswer) else ""
