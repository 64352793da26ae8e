"""The two stages: live servers in a sandbox, and stored answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from replay.interpreter import Interpreter, Sandbox
from replay.records import Answer, Evidence, FleetFacts, Tool, Trajectory
from replay.replayer.source import Question, Stage


class LiveTheatre:
    """Replays on real servers.

    Args:
        interpreter: started.
        facts: of its fleet.
        allowed: servers whose effects the user allowed.
    """

    def __init__(self, interpreter: Interpreter, facts: FleetFacts, allowed: frozenset[str]) -> None:
        self._interpreter, self.facts, self._allowed = interpreter, facts, allowed
        self._tools = {(name, tool.name): tool for name, server in interpreter.servers.items() for tool in server.tools}

    def tool(self, server: str, tool: str) -> Tool | None:
        """The tool as its server described it."""
        return self._tools.get((server, tool))

    def may_issue(self, server: str, tool: str) -> bool:
        """Whether the effects policy lets the tool be called."""
        record = self.tool(server, tool)
        return record is not None and self._interpreter.may_issue(server, record, self._allowed)

    @asynccontextmanager
    async def stage(self, trajectory: Trajectory, servers: frozenset[str]) -> AsyncIterator[Stage]:
        """A sandbox of its own for the trajectory."""
        async with self._interpreter.sandbox(trajectory.id, names=sorted(servers)) as sandbox:
            yield _LiveStage(self, sandbox, trajectory.id)


class _LiveStage:
    evidence: Evidence = "replay"

    def __init__(self, theatre: LiveTheatre, sandbox: Sandbox, task: str) -> None:
        self._theatre, self._sandbox = theatre, sandbox
        self.state = theatre.facts.state_of(task)
        self.workspace_servers = theatre.facts.workspace_servers

    def stateful(self, server: str) -> bool:
        facts = self._theatre.facts.servers.get(server)
        return facts is not None and facts.stateful

    def may_ask(self, server: str, tool: str) -> bool:
        return self._theatre.may_issue(server, tool)

    def has_effects(self, server: str, tool: str) -> bool:
        record = self._theatre.tool(server, tool)
        return not self.stateful(server) and not (record is not None and record.read_only)

    async def ask(self, question: Question) -> Answer | None:
        return await self._sandbox.call(question.server, question.tool, question.arguments)


class StoredTheatre:
    """Replays on stored answers; starts no server.

    Args:
        answers: looks a stored answer up by its key.
        facts: of the fleet that gave the answers.
    """

    def __init__(self, answers: Callable[[str], Answer | None] | Mapping[str, Answer], facts: FleetFacts) -> None:
        self._lookup = answers.get if isinstance(answers, Mapping) else answers
        self._facts = facts

    @asynccontextmanager
    async def stage(self, trajectory: Trajectory, servers: frozenset[str]) -> AsyncIterator[Stage]:
        """The stored answers of the trajectory's calls."""
        yield _StoredStage(self._lookup, self._facts, trajectory.id)


class _StoredStage:
    evidence: Evidence = "stored"

    def __init__(self, lookup: Callable[[str], Answer | None], facts: FleetFacts, task: str) -> None:
        self._lookup, self._facts = lookup, facts
        self.state = facts.state_of(task)
        self.workspace_servers = facts.workspace_servers

    def stateful(self, server: str) -> bool:
        facts = self._facts.servers.get(server)
        return facts is not None and facts.stateful

    def may_ask(self, server: str, tool: str) -> bool:
        return True

    def has_effects(self, server: str, tool: str) -> bool:
        return False

    async def ask(self, question: Question) -> Answer | None:
        return self._lookup(question.key)
