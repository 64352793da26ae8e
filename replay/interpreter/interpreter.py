"""The MCP host: starts the servers of the fleet, and is the only door to them."""

from __future__ import annotations

import re
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

from replay.interpreter.config.fleet import Fleet
from replay.interpreter.config.variables import VariableScope
from replay.interpreter.effects import may_issue
from replay.interpreter.events import OnEvent
from replay.interpreter.owned_directory import sweep
from replay.interpreter.path_map import PathMap
from replay.interpreter.sandbox import Sandbox
from replay.interpreter.session.launch import Launch, launch_of
from replay.interpreter.session.process_guard import ProcessGuard
from replay.interpreter.session.server_history import ServerHistory
from replay.interpreter.session.supervisor import Supervisor
from replay.interpreter.tasks import all_at_once, task_group
from replay.interpreter.workspace import Workspace, workspace_of
from replay.records import Server, Tool
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
        self.fleet = fleet
        self._names = tuple(dict.fromkeys(name for name in names if name in fleet.servers))
        self._logs = logs
        self._on_event: OnEvent = on_event or (lambda event: None)
        self._redactor = Redactor(fleet.secrets())
        self._histories = {name: ServerHistory() for name in self._names}
        self._described: dict[str, Server] = {}
        self._shared: dict[str, list[tuple[Supervisor, PathMap | None]]] = {}
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
                await all_at_once(supervisor.stop for same in self._shared.values() for supervisor, _ in same)
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
            for name, server in self._described.items()
        }

    def tools_complete(self, name: str) -> bool:
        """Whether the list of a server's tools was read to its end, and has not changed since."""
        return name not in self._histories or self._histories[name].tools_complete

    async def start(self) -> None:
        """Start all needed servers at once; return when each is up or has failed.

        A server with `state: trajectory` is started for its identity and its tools, and stopped again: each sandbox
        has a process of its own.
        """
        await anyio.to_thread.run_sync(sweep)
        shared_workspace = await self._shared_workspace()
        async with anyio.create_task_group() as starts:
            for name in self._names:
                spec = self.fleet.servers[name]
                if spec.disabled:
                    error = "it is disabled in the fleet file"
                    self._described[name] = Server(name=name, state=spec.state, error=error)
                elif spec.state == "none":
                    starts.start_soon(self._start_shared, name, shared_workspace)
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
            make_own = partial(self._own, trajectory=trajectory_id, task=task, workspace=workspace, tasks=tasks)
            sandbox = Sandbox(
                trajectory_id,
                workspace,
                self.fleet.workspace.recorded_as,
                shared={name: same[number % len(same)] for name, same in self._shared.items()},
                described=self._described,
                own=make_own,
            )
            try:
                for name in dict.fromkeys(names):
                    tasks.start_soon(sandbox.start, name)
                yield sandbox
            finally:
                with anyio.CancelScope(shield=True):
                    await all_at_once(supervisor.stop for supervisor in sandbox.own())

    def may_issue(self, server: str, tool: Tool | None, allowed: Collection[str]) -> bool:
        """Whether a call to this tool may be re-issued under the fleet's effects policy."""
        spec = self.fleet.servers.get(server)
        return spec is not None and may_issue(server, spec, tool, allowed)

    async def _shared_workspace(self) -> Workspace | None:
        """The one workspace of all shared servers that ask for one."""
        wanted = (self.fleet.servers[name] for name in self._names)
        if not any(spec.state == "none" and spec.uses_workspace and not spec.disabled for spec in wanted):
            return None
        return await self._stack.enter_async_context(workspace_of(self.fleet, None))

    async def _start_shared(self, name: str, workspace: Workspace | None) -> None:
        spec = self.fleet.servers[name]
        mine = workspace if spec.uses_workspace else None
        scope = VariableScope(mine.path if mine else None)
        assert self._tasks is not None
        paths = PathMap(self.fleet.workspace.recorded_as, mine.names) if mine else None
        same = [
            self._supervisor(name, scope, self.fleet.directory, self._tasks, None, number)
            for number in range(1, self.instances + 1)
        ]
        self._shared[name] = [(supervisor, paths) for supervisor in same]
        described: dict[Supervisor, Server] = {}

        async def start(supervisor: Supervisor) -> None:
            described[supervisor] = await supervisor.start()

        await all_at_once(partial(start, supervisor) for supervisor in same)
        started = [supervisor for supervisor in same if described[supervisor].error is None] or same[:1]
        self._shared[name] = [(supervisor, paths) for supervisor in started]
        self._described[name] = described[started[0]]

    async def _probe(self, name: str) -> None:
        async with workspace_of(self.fleet.without_template(), None) as workspace, task_group() as tasks:
            supervisor = self._supervisor(name, VariableScope(workspace.path, "probe"), workspace.path, tasks, None)
            try:
                self._described[name] = await supervisor.start()
            finally:
                with anyio.CancelScope(shield=True):
                    await supervisor.stop()

    def _own(self, name: str, *, trajectory: str, task: str, workspace: Workspace, tasks: TaskGroup) -> Supervisor:
        return self._supervisor(name, VariableScope(workspace.path, task), workspace.path, tasks, trajectory)

    def _supervisor(
        self,
        name: str,
        scope: VariableScope,
        cwd: Path,
        tasks: TaskGroup,
        trajectory: str | None,
        instance: int = 1,
    ) -> Supervisor:
        def launch() -> Launch:
            found = launch_of(name, self.fleet.resolve(name, scope), self.fleet.directory, cwd)
            return replace(found, guard=self._guard)

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


def _file_name_part(text: str) -> str:
    """A name as part of a file name: two of them and a suffix stay under the 255 bytes that file systems allow."""
    return _UNSAFE_IN_FILE_NAME.sub("_", text).encode()[:100].decode(errors="ignore")
