"""The MCP host: starts the servers of the fleet, and is the only door to them; one sandbox a trajectory."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from replay.errors import FleetError
from replay.interpreter.config.fleet import Fleet, VariableScope
from replay.interpreter.confinement import caches_of, can_confine, first_path_below, first_path_outside
from replay.interpreter.owned_directory import remove_abandoned
from replay.interpreter.processes import ProcessGuard
from replay.interpreter.session.handshake import ServerHistory
from replay.interpreter.session.json_rpc import Exchange
from replay.interpreter.session.launch import Launch, launch_of
from replay.interpreter.session.supervisor import OnEvent, Supervisor
from replay.interpreter.workspace import PathMap, Workspace, all_at_once, task_group, workspace_of
from replay.records import Answer, JsonObject, Server, TextAnswer, Tool, TransportFault, texts_of
from replay.safety import posix
from replay.safety.redaction import Redactor

_UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^\w.-]+")


class Interpreter:
    """Runs the servers that a replay needs. An async context manager; at its end no process is left.

    Args:
        fleet: which servers there are.
        names: those that are needed; others are never started.
        logs: directory for the servers' stderr, a file each.
        on_event: told when a server is starting, started, failed or restarted.
        instances: how many processes of each server without state are started; sandboxes take them in turn.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        names: Iterable[str],
        logs: Path,
        on_event: OnEvent | None = None,
        instances: int = 1,
    ) -> None:
        posix.require("Starting servers")
        self.fleet = fleet
        self._names = tuple(dict.fromkeys(name for name in names if name in fleet.servers))
        self._logs = logs
        self._on_event: OnEvent = on_event or (lambda event: None)
        self._redactor = Redactor(fleet.secrets())
        self._histories = {name: ServerHistory() for name in self._names}
        self.described: dict[str, Server] = {}
        """Each server that was started as it described itself then, or why it failed."""
        self.shared: dict[str, list[tuple[Supervisor, PathMap | None]]] = {}
        """The processes of each server without state."""
        self.shared_workspace: Workspace | None = None
        self.instances = instances
        self._sandboxes_made = count()
        self._guard = ProcessGuard()
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await self._stack.enter_async_context(task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            with anyio.CancelScope(shield=True):
                await all_at_once(supervisor.stop for same in self.shared.values() for supervisor, _ in same)
            return await self._stack.__aexit__(kind, error, trace)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._guard.close)

    @property
    def servers(self) -> dict[str, Server]:
        """Each needed server as it described itself, or with the reason why it could not be had."""
        return {
            name: server.model_copy(
                update={"notes": self._histories[name].notes, "tools_complete": self.tools_complete(name)}
            )
            for name, server in self.described.items()
        }

    def tools_complete(self, name: str) -> bool:
        """Whether the list of a server's tools was read to its end, and has not changed since."""
        return name not in self._histories or self._histories[name].tools_complete

    async def start(self) -> None:
        """Start all needed servers at once; return when each is up or has failed.

        A server with `state: trajectory` is started for its identity and its tools, and stopped again: each sandbox
        has a process of its own.
        """
        await anyio.to_thread.run_sync(remove_abandoned)
        self.shared_workspace = await self._make_shared_workspace()
        async with anyio.create_task_group() as starts:
            for name in self._names:
                spec = self.fleet.servers[name]
                if spec.disabled:
                    error = "it is disabled in the fleet file"
                    self.described[name] = Server(name=name, state=spec.state, error=error)
                elif spec.state == "none":
                    starts.start_soon(self._start_shared, name)
                else:
                    starts.start_soon(self._probe, name)

    @asynccontextmanager
    async def sandbox(
        self, trajectory_id: str, task: str | None = None, names: Iterable[str] = ()
    ) -> AsyncIterator[Sandbox]:
        """A place to replay one trajectory in.

        Args:
            trajectory_id: names the log files of the trajectory's own servers.
            task: what `${task}` stands for; the trajectory's id where None.
            names: servers that the trajectory calls: they start at once, the others at their first call.

        Raises:
            FleetError: the workspace template cannot be copied.
        """
        task = task or trajectory_id
        number = next(self._sandboxes_made)
        async with workspace_of(self.fleet, task) as workspace, task_group() as tasks:
            sandbox = Sandbox(self, trajectory_id, task, number, workspace, tasks)
            try:
                for name in dict.fromkeys(names):
                    tasks.start_soon(sandbox.start, name)
                yield sandbox
            finally:
                with anyio.CancelScope(shield=True):
                    await all_at_once(supervisor.stop for supervisor in sandbox.own())

    def may_issue(self, server: str, tool: Tool | None, allowed: Collection[str]) -> bool:
        """Whether a call may be re-issued under the fleet's effects policy.

        The specification's default for an unannotated tool is destructive, and so is ours.

        Args:
            server: its name in the fleet.
            tool: the tool as it describes itself; None where the server lists no such tool.
            allowed: servers that the user allowed on the command line.
        """
        spec = self.fleet.servers.get(server)
        if spec is None:
            return False
        return server in allowed or spec.effects in {"sandboxed", "all"} or (tool is not None and tool.read_only)

    async def _make_shared_workspace(self) -> Workspace | None:
        """The one workspace of all shared servers that ask for one, or may write to nothing else."""
        specs = (self.fleet.servers[name] for name in self._names)
        shared = [spec for spec in specs if spec.state == "none" and not spec.disabled]
        if not any(spec.uses_workspace or spec.effects == "sandboxed" for spec in shared):
            return None
        return await self._stack.enter_async_context(workspace_of(self.fleet, None))

    async def _start_shared(self, name: str) -> None:
        spec, workspace = self.fleet.servers[name], self.shared_workspace
        mine = workspace if spec.uses_workspace else None
        cwd = workspace.path if workspace and spec.effects == "sandboxed" else self.fleet.directory
        scope = VariableScope(mine.path if mine else None)
        assert self._tasks is not None
        paths = PathMap(self.fleet.workspace.recorded_as, mine.names) if mine else None
        same = [
            self.supervisor(name, scope, cwd, self._tasks, workspace, instance=number)
            for number in range(1, self.instances + 1)
        ]
        self.shared[name] = [(supervisor, paths) for supervisor in same]
        described: dict[Supervisor, Server] = {}

        async def start(supervisor: Supervisor) -> None:
            described[supervisor] = await supervisor.start()

        await all_at_once(partial(start, supervisor) for supervisor in same)
        started = [supervisor for supervisor in same if described[supervisor].error is None] or same[:1]
        self.shared[name] = [(supervisor, paths) for supervisor in started]
        self.described[name] = described[started[0]]

    async def _probe(self, name: str) -> None:
        async with workspace_of(self.fleet.without_template(), None) as workspace, task_group() as tasks:
            scope = VariableScope(workspace.path, "probe")
            supervisor = self.supervisor(name, scope, workspace.path, tasks, workspace)
            try:
                self.described[name] = await supervisor.start()
            finally:
                with anyio.CancelScope(shield=True):
                    await supervisor.stop()

    def supervisor(
        self,
        name: str,
        scope: VariableScope,
        cwd: Path,
        tasks: TaskGroup,
        workspace: Workspace | None,
        trajectory: str | None = None,
        instance: int = 1,
    ) -> Supervisor:
        """What keeps a process of a server going.

        Args:
            name: the server's.
            scope: what variables stand for.
            cwd: its working directory.
            tasks: it runs in them.
            workspace: where it may write, if it is sandboxed.
            trajectory: whose own process it is; None for a shared one.
            instance: which of the shared ones.
        """
        confined_to = workspace if self.fleet.servers[name].effects == "sandboxed" else None

        def launch() -> Launch:
            resolved = self.fleet.resolve(name, scope)
            return replace(launch_of(name, resolved, self.fleet.directory, cwd, confined_to), guard=self._guard)

        parts = [name] if trajectory is None else [name, self._redactor.text(trajectory)]
        if instance > 1:
            parts.append(str(instance))
        file_name = ".".join(_file_name_part(part) for part in parts) + ".log"
        return Supervisor(
            name,
            self.fleet.servers[name],
            launch,
            log=self._logs / file_name,
            tasks=tasks,
            history=self._histories[name],
            on_event=self._on_event,
            redactor=self._redactor,
            trajectory=trajectory,
        )


class Sandbox:
    """Calls tools for one trajectory. Made by `Interpreter.sandbox`."""

    def __init__(
        self,
        interpreter: Interpreter,
        trajectory: str,
        task: str,
        number: int,
        workspace: Workspace,
        tasks: TaskGroup,
    ) -> None:
        self._interpreter, self._trajectory, self._task = interpreter, trajectory, task
        self._workspace, self._tasks = workspace, tasks
        self._paths = PathMap(interpreter.fleet.workspace.recorded_as, workspace.names)
        self._shared = {name: same[number % len(same)] for name, same in interpreter.shared.items()}
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

    async def call(self, server: str, tool: str, arguments: JsonObject, exchange: Exchange | None = None) -> Answer:
        """Call a tool. Whatever the server does is an answer; nothing is raised.

        Args:
            server: its name in the fleet.
            tool: its own name.
            arguments: with paths as they were recorded.
            exchange: takes down how long the server takes, without its start.
        """
        missing = self._missing(server)
        if missing is not None:
            return missing
        if server in self._shared:
            supervisor, paths = self._shared[server]
        else:
            supervisor, paths = self._supervisor(server), self._paths
        if paths is None:
            return await supervisor.call(tool, arguments, exchange)
        return paths.answer(await supervisor.call(tool, paths.arguments(arguments), exchange))

    def forbidden_path(self, server: str, arguments: JsonObject) -> str | None:
        """The path in a call's arguments for which it must not be sent to a sandboxed server; None where it may be.

        Where the kernel cannot keep the server inside, that is any path outside the workspace and what the fleet file
        allows; else one in a cache that the server may write to, since its own start needs that.
        """
        fleet = self._interpreter.fleet
        spec = fleet.servers[server]
        if spec.effects != "sandboxed" or spec.command is None:
            return None
        shared = server in self._shared
        workspace = self._interpreter.shared_workspace if shared else self._workspace
        paths = self._shared[server][1] if shared else self._paths
        if workspace is None:
            return None
        sent = paths.arguments(arguments) if paths is not None else arguments
        if can_confine():
            return first_path_below(sent, workspace.path, caches_of(spec.command, ChainMap(spec.env, os.environ)))
        try:
            allowed = fleet.resolve(server, VariableScope(workspace.path, self._task)).writable
        except FleetError:  # it will not start, and says why
            allowed = ()
        return first_path_outside(sent, workspace.path, (workspace.temporary, *allowed))

    async def stderr_since(self, server: str, exchange: Exchange) -> str:
        """The last lines that a server wrote to stderr since it was asked, with paths as they were recorded."""
        supervisor = self._shared[server][0] if server in self._shared else self._own.get(server)
        if supervisor is None:
            return ""
        text = await supervisor.stderr_since(exchange.log_mark)
        return texts_of(self._paths.answer(TextAnswer(text=text)))[0] if text else ""

    def own(self) -> tuple[Supervisor, ...]:
        """The servers that were started for this trajectory alone."""
        return tuple(self._own.values())

    def _missing(self, server: str) -> TransportFault | None:
        described = self._interpreter.described.get(server)
        if described is None:
            return TransportFault(fault="not-started", message=f"the server {server} was not started")
        if described.error is not None:
            return TransportFault(fault="not-started", message=described.error)
        return None

    def _supervisor(self, server: str) -> Supervisor:
        if server not in self._own:
            place = self._workspace
            scope = VariableScope(place.path, self._task)
            self._own[server] = self._interpreter.supervisor(
                server, scope, place.path, self._tasks, place, self._trajectory
            )
        return self._own[server]


def _file_name_part(text: str) -> str:
    """A name as part of a file name: two of them and a suffix stay under the 255 bytes that file systems allow."""
    return _UNSAFE_IN_FILE_NAME.sub("_", text).encode()[:100].decode(errors="ignore")
