"""The two stages: live servers in a sandbox, and stored answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

from replay.interpreter import Interpreter, Sandbox
from replay.records import Answer, Evidence, FleetFacts, Tool, Trajectory
from replay.replayer.source import Question, Stage


class LiveTheatre:
    """Replays on real servers. An async context manager.

    Args:
        interpreter: started.
        facts: of its fleet.
        allowed: servers whose effects the user allowed.
    """

    def __init__(self, interpreter: Interpreter, facts: FleetFacts, allowed: frozenset[str]) -> None:
        self._interpreter, self.facts, self._allowed = interpreter, facts, allowed
        self.notes: dict[str, str] = {}
        """What is odd about workspaces, and the first trajectory that found it so."""
        self._stack = AsyncExitStack()
        self._common: Sandbox | None = None
        self._tools = {(name, tool.name): tool for name, server in interpreter.servers.items() for tool in server.tools}

    def tool(self, server: str, tool: str) -> Tool | None:
        """The tool as its server described it."""
        return self._tools.get((server, tool))

    def may_issue(self, server: str, tool: str) -> bool:
        """Whether the effects policy lets the tool be called."""
        record = self.tool(server, tool)
        return record is not None and self._interpreter.may_issue(server, record, self._allowed)

    async def __aenter__(self) -> Self:
        self._common = await self._stack.enter_async_context(self._interpreter.sandbox("shared-servers"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def stage(self, trajectory: Trajectory, servers: frozenset[str]) -> AsyncIterator[Stage]:
        """A sandbox for the trajectory: one of its own where a server that it names has state."""
        own = sorted(name for name in servers if name in self.facts.servers and self.facts.servers[name].stateful)
        if not own and self._common is not None:
            yield _LiveStage(self, self._common, trajectory.id)
            return
        async with self._interpreter.sandbox(trajectory.id, names=own) as sandbox:
            if sandbox.note is not None:
                self.notes.setdefault(sandbox.note, trajectory.id)
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
