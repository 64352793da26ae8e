"""Where answers come from: live servers in a sandbox, or what an earlier run or a cassette stored, by key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, NamedTuple, Self

from replay.interpreter import Exchange, Interpreter, Sandbox
from replay.records import (
    Answer,
    Evidence,
    FleetFacts,
    TextAnswer,
    Trajectory,
    canonical,
    digest,
)
from replay.records.trajectory import mark_of, own_answer_key, stderr_key
from replay.safety.text import one_line


class ToolRequest(NamedTuple):
    """A call as it is about to be sent."""

    server: str
    tool: str
    arguments: dict[str, Any]
    key: str
    """Of its stored answer; see `answer_key`."""


class BackendSession(ABC):
    """What one trajectory is replayed on: a sandbox with live servers, or the stored answers.

    Args:
        facts: of the fleet.
        trajectory: its id.
    """

    evidence: Evidence
    """`replay` or `stored`."""

    def __init__(self, facts: FleetFacts, trajectory: str) -> None:
        self._facts = facts
        self.state = facts.state_of(trajectory)
        """Digest that the trajectory's state begins with."""
        self.workspace_servers = facts.workspace_servers
        """Servers that share the trajectory's workspace."""

    def stateful(self, server: str) -> bool:
        """Whether each trajectory has a process of its own of this server."""
        facts = self._facts.servers.get(server)
        return facts is not None and facts.stateful

    @abstractmethod
    def may_send(self, request: ToolRequest) -> bool:
        """Whether the effects policy lets the tool be called, and no argument leads out of a server's sandbox."""

    @abstractmethod
    def has_effects(self, server: str, tool: str) -> bool:
        """Whether calling the tool may change something outside the trajectory's sandbox."""

    @abstractmethod
    async def send(self, request: ToolRequest, exchange: Exchange) -> Answer | None:
        """The answer; None where none can be had (`--offline` and not stored). Of a live one the time is taken."""

    @abstractmethod
    async def stderr_since(self, request: ToolRequest, exchange: Exchange) -> str:
        """The last lines that the server wrote to stderr since it got a request; empty where none are known."""


def answer_key(server_digest: str, tool: str, arguments: dict[str, Any], state: str | None) -> str:
    """The key of a stored answer, SHA-256 in hexadecimal.

    Args:
        server_digest: of the server's identity and tools/list.
        tool: the tool's own name.
        arguments: as they were sent, with paths as they were recorded.
        state: for a server with state, the digest of the calls before this one in its trajectory; else None.
    """
    return digest([server_digest, tool, arguments, state])


def next_state(state: str, calls: Iterable[tuple[str, dict[str, Any]]]) -> str:
    """The digest after one more step. The calls of a step happen together, so their order does not count.

    Args:
        state: the digest before; of an empty trajectory, the digest of its workspace template, or "".
        calls: (`server/tool`, arguments as sent) of the step's calls to servers with state, answered or not.
    """
    sent = sorted(canonical(call) for call in calls)
    return digest([state, sent]) if sent else state


class LiveBackend:
    """Replays on real servers. An async context manager.

    Args:
        interpreter: started.
        facts: of its fleet.
        allowed: servers whose effects the user allowed.
    """

    def __init__(self, interpreter: Interpreter, facts: FleetFacts, allowed: frozenset[str]) -> None:
        self.interpreter, self.facts, self.allowed = interpreter, facts, allowed
        self.notes: dict[str, str] = {}
        """What is odd about workspaces and arguments, and the first trajectory that found it so."""
        self.refused: set[str] = set()
        """Servers of which calls were refused for a path; noted once."""
        self._stack = AsyncExitStack()
        self._shared: list[Sandbox] = []
        """One for each instance of the servers without state."""
        self._users: Counter[int] = Counter()
        self.tools = {(name, tool.name): tool for name, server in interpreter.servers.items() for tool in server.tools}

    async def __aenter__(self) -> Self:
        for _ in range(self.interpreter.instances):
            self._shared.append(await self._stack.enter_async_context(self.interpreter.sandbox("shared-servers")))
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
        async with self.interpreter.sandbox(trajectory.id, names=own) as sandbox:
            if sandbox.note is not None:
                self.notes.setdefault(sandbox.note, trajectory.id)
            yield _LiveSession(self, sandbox, trajectory.id)


class _LiveSession(BackendSession):
    evidence = "replay"

    def __init__(self, backend: LiveBackend, sandbox: Sandbox, trajectory: str) -> None:
        super().__init__(backend.facts, trajectory)
        self._backend, self._sandbox, self._trajectory = backend, sandbox, trajectory

    def may_send(self, request: ToolRequest) -> bool:
        backend, server = self._backend, request.server
        tool = backend.tools.get((server, request.tool))
        if tool is None or not backend.interpreter.may_issue(server, tool, backend.allowed):
            return False
        if tool.read_only or server in backend.allowed:
            return True
        path = self._sandbox.forbidden_path(server, request.arguments)
        if path is not None and server not in backend.refused:
            backend.refused.add(server)
            note = f"a call of {server} names {one_line(path, 100)}, outside its sandbox: such calls are not re-issued"
            backend.notes[note] = self._trajectory
        return path is None

    def has_effects(self, server: str, tool: str) -> bool:
        record = self._backend.tools.get((server, tool))
        if record is not None and record.read_only:
            return False
        spec = self._backend.interpreter.fleet.servers.get(server)
        return not (self.stateful(server) and spec is not None and spec.effects == "sandboxed")

    async def send(self, request: ToolRequest, exchange: Exchange) -> Answer | None:
        return await self._sandbox.call(request.server, request.tool, request.arguments, exchange)

    async def stderr_since(self, request: ToolRequest, exchange: Exchange) -> str:
        return await self._sandbox.stderr_since(request.server, exchange)


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
        yield _StoredSession(self._lookup, self._facts, trajectory)


class _StoredSession(BackendSession):
    evidence = "stored"

    def __init__(self, lookup: Callable[[str], Answer | None], facts: FleetFacts, trajectory: Trajectory) -> None:
        super().__init__(facts, trajectory.id)
        self._lookup = lookup
        self._mark = mark_of(trajectory) if any(server.stateful for server in facts.servers.values()) else ""

    def may_send(self, request: ToolRequest) -> bool:
        return True

    def has_effects(self, server: str, tool: str) -> bool:
        return False

    async def send(self, request: ToolRequest, exchange: Exchange) -> Answer | None:
        own = self._lookup(self._own_key(request)) if self.stateful(request.server) else None
        return own or self._lookup(request.key)

    async def stderr_since(self, request: ToolRequest, exchange: Exchange) -> str:
        own = self.stateful(request.server) and self._lookup(self._own_key(request)) is not None
        found = self._lookup(stderr_key(self._own_key(request) if own else request.key))
        return found.text if isinstance(found, TextAnswer) else ""

    def _own_key(self, request: ToolRequest) -> str:
        return own_answer_key(request.key, self._mark)


AnswerBackend = LiveBackend | StoredBackend
"""Makes a session for each trajectory."""
