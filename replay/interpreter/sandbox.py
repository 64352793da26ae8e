"""Where one trajectory is replayed: its workspace, its own servers, and the way to the shared ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from replay.interpreter.path_map import PathMap
from replay.interpreter.session.supervisor import Supervisor
from replay.interpreter.workspace import Workspace
from replay.records import Answer, JsonObject, Server, TextAnswer, TransportFault, texts_of


class Sandbox:
    """Calls tools for one trajectory. Made by `Interpreter.sandbox`."""

    def __init__(
        self,
        trajectory: str,
        workspace: Workspace,
        recorded_as: tuple[str, ...],
        *,
        shared: Mapping[str, tuple[Supervisor, PathMap | None]],
        described: Mapping[str, Server],
        own: Callable[[str], Supervisor],
    ) -> None:
        self.trajectory = trajectory
        self._workspace = workspace
        self._paths = PathMap(recorded_as, workspace.names)
        self._shared, self._described, self._make_own = shared, described, own
        self._own: dict[str, Supervisor] = {}

    @property
    def workspace(self) -> Path:
        """The directory that the trajectory's own servers work in."""
        return self._workspace.path

    @property
    def note(self) -> str | None:
        """Why the workspace is empty, where it should not be."""
        return self._workspace.note

    async def start(self, server: str) -> None:
        """Start one of the trajectory's own servers now and not at its first call."""
        if self._missing(server) is None and server not in self._shared:
            await self._supervisor(server).start()

    async def call(self, server: str, tool: str, arguments: JsonObject) -> Answer:
        """Call a tool. Whatever the server does is an answer; nothing is raised.

        Args:
            server: its name in the fleet.
            tool: its own name.
            arguments: with paths as they were recorded.
        """
        missing = self._missing(server)
        if missing is not None:
            return missing
        if server in self._shared:
            supervisor, paths = self._shared[server]
        else:
            supervisor, paths = self._supervisor(server), self._paths
        if paths is None:
            return await supervisor.call(tool, arguments)
        return paths.answer(await supervisor.call(tool, paths.arguments(arguments)))

    def stderr_mark(self, server: str) -> int:
        """Where the log of a server's stderr ends now."""
        supervisor = self._running(server)
        return supervisor.stderr_mark() if supervisor is not None else 0

    async def stderr_since(self, server: str, mark: int) -> str:
        """The last lines that a server wrote to stderr since, with paths as they were recorded."""
        supervisor = self._running(server)
        if supervisor is None:
            return ""
        text = await supervisor.stderr_since(mark)
        return texts_of(self._paths.answer(TextAnswer(text=text)))[0] if text else ""

    def _running(self, server: str) -> Supervisor | None:
        return self._shared[server][0] if server in self._shared else self._own.get(server)

    def own(self) -> tuple[Supervisor, ...]:
        """The servers that were started for this trajectory alone."""
        return tuple(self._own.values())

    def _missing(self, server: str) -> TransportFault | None:
        described = self._described.get(server)
        if described is None:
            return TransportFault(fault="not-started", message=f"the server {server} was not started")
        if described.error is not None:
            return TransportFault(fault="not-started", message=described.error)
        return None

    def _supervisor(self, server: str) -> Supervisor:
        if server not in self._own:
            self._own[server] = self._make_own(server)
        return self._own[server]
