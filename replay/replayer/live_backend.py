"""Answers of live servers, in a sandbox."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

from replay.interpreter import Interpreter, Sandbox
from replay.records import Answer, Evidence, FleetFacts, Tool, Trajectory
from replay.replayer.backend import BackendSession, ToolRequest


class LiveBackend:
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
        self._shared: list[Sandbox] = []
        """One for each instance of the servers without state."""
        self._users: Counter[int] = Counter()
        self._tools = {(name, tool.name): tool for name, server in interpreter.servers.items() for tool in server.tools}

    def tool(self, server: str, tool: str) -> Tool | None:
        """The tool as its server described it."""
        return self._tools.get((server, tool))

    def may_issue(self, server: str, tool: str) -> bool:
        """Whether the effects policy lets the tool be called."""
        record = self.tool(server, tool)
        return record is not None and self._interpreter.may_issue(server, record, self._allowed)

    def is_sandboxed(self, server: str) -> bool:
        """Whether the fleet file says that the server changes nothing outside its workspace and process."""
        spec = self._interpreter.fleet.servers.get(server)
        return spec is not None and spec.effects == "sandboxed"

    async def __aenter__(self) -> Self:
        for _ in range(self._interpreter.instances):
            self._shared.append(await self._stack.enter_async_context(self._interpreter.sandbox("shared-servers")))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def session(self, trajectory: Trajectory, servers: frozenset[str]) -> AsyncIterator[BackendSession]:
        """A sandbox for the trajectory: one of its own where a server that it names has state."""
        own = sorted(name for name in servers if name in self.facts.servers and self.facts.servers[name].stateful)
        if not own and self._shared:
            least_used = min(range(len(self._shared)), key=self._users.__getitem__)
            self._users[least_used] += 1
            try:
                yield _LiveSession(self, self._shared[least_used], trajectory.id)
            finally:
                self._users[least_used] -= 1
            return
        async with self._interpreter.sandbox(trajectory.id, names=own) as sandbox:
            if sandbox.note is not None:
                self.notes.setdefault(sandbox.note, trajectory.id)
            yield _LiveSession(self, sandbox, trajectory.id)


class _LiveSession:
    evidence: Evidence = "replay"

    def __init__(self, backend: LiveBackend, sandbox: Sandbox, task: str) -> None:
        self._backend, self._sandbox = backend, sandbox
        self.state = backend.facts.state_of(task)
        self.workspace_servers = backend.facts.workspace_servers

    def stateful(self, server: str) -> bool:
        facts = self._backend.facts.servers.get(server)
        return facts is not None and facts.stateful

    def may_send(self, server: str, tool: str) -> bool:
        return self._backend.may_issue(server, tool)

    def has_effects(self, server: str, tool: str) -> bool:
        record = self._backend.tool(server, tool)
        if record is not None and record.read_only:
            return False
        return not (self.stateful(server) and self._backend.is_sandboxed(server))

    async def send(self, request: ToolRequest, meanwhile: Callable[[], None]) -> Answer | None:
        del meanwhile
        return await self._sandbox.call(request.server, request.tool, request.arguments)

    def stderr_mark(self, server: str) -> int:
        return self._sandbox.stderr_mark(server)

    async def stderr_since(self, request: ToolRequest, mark: int) -> str:
        return await self._sandbox.stderr_since(request.server, mark)
