"""Recording a whole fleet: one MCP server with all its tools, over stdio or on loopback."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from replay.errors import NoServerReachedError
from replay.interpreter.config.fleet import Fleet
from replay.interpreter.interpreter import Interpreter
from replay.interpreter.session.supervisor import ServerEvent
from replay.recorder.fleet_server import FleetServer
from replay.recorder.http_server import Access, HttpSessionResolver, listen, serve
from replay.recorder.recording import RecordingInfo, print_notice
from replay.recorder.recording_session import SessionManager
from replay.recorder.recording_store import RecordingStore
from replay.safety.redaction import Redactor


def record_fleet(
    fleet: Fleet,
    path: Path,
    info: RecordingInfo,
    patterns: Sequence[str] = (),
    port: int | None = None,
    access: Access | None = None,
) -> int:
    """Serve a fleet, and record each session: everything that `replay record -o FILE --servers FLEET` does.

    Args:
        fleet: the servers.
        path: of the trajectory file.
        info: id, model and task.
        patterns: what is taken out of the recording, beside the fleet's secrets.
        port: on loopback, to serve there; stdio where None.
        access: who may use the port; by default those to whom the user gives the token that is printed.

    Returns:
        The exit code.

    Raises:
        ReplayError: the fleet file is wrong, the file cannot be written, or the port is taken.
    """
    fleet.require(fleet.servers)
    store = RecordingStore(path, info, Redactor(fleet.secrets(), patterns), print_notice)
    try:
        if port is None:
            return anyio.run(FleetHost(fleet, store).serve_stdio)
        with listen(port) as listener:
            return anyio.run(FleetHost(fleet, store).serve_http, listener, access or Access())
    finally:
        store.close()


_LAST_LINES: Final = 6
"""What is shown of what a server wrote that did not start; its log goes with the recorder."""


class FleetHost:
    """Runs the servers of a fleet, and the one server in front of them."""

    def __init__(self, fleet: Fleet, store: RecordingStore) -> None:
        self._fleet, self._store = fleet, store

    async def serve_stdio(self) -> int:
        """Serve one client on our standard streams."""
        async with AsyncExitStack() as stack:
            interpreter, tasks = await self._enter(stack)
            sessions = SessionManager(self._store, interpreter, tasks)
            session = sessions.begin()
            fleet_server = FleetServer(interpreter, lambda ctx: session)
            tasks.start_soon(self._start, interpreter, fleet_server)
            await fleet_server.serve_stdio(tasks)
            sessions.end(session)
            tasks.cancel_scope.cancel()
        return 0

    async def serve_http(self, listener: socket.socket, access: Access) -> int:
        """Serve any number of clients on a listening socket."""
        async with AsyncExitStack() as stack:
            interpreter, tasks = await self._enter(stack)
            resolver = HttpSessionResolver(SessionManager(self._store, interpreter, tasks))
            fleet_server = FleetServer(interpreter, resolver.session_of)
            await self._start(interpreter, fleet_server)
            print_notice(f"serving on http://127.0.0.1:{listener.getsockname()[1]}/mcp")
            if access.token is None:
                print_notice("without authentication: every program on this machine may call the tools of the fleet")
            else:
                print_notice(f"to those who send the header Authorization: Bearer {access.token}")
            await serve(fleet_server.server, resolver, listener, access)
            resolver.close()
            tasks.cancel_scope.cancel()
        return 0

    async def _enter(self, stack: AsyncExitStack) -> tuple[Interpreter, anyio.abc.TaskGroup]:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-record-")))
        interpreter = Interpreter(self._fleet, names=self._fleet.servers, logs=logs, on_event=_print_event)
        await stack.enter_async_context(interpreter)
        return interpreter, await stack.enter_async_context(anyio.create_task_group())

    async def _start(self, interpreter: Interpreter, fleet_server: FleetServer) -> None:
        await interpreter.start()
        for name, server in interpreter.servers.items():
            for line in (server.stderr_tail or "").splitlines()[-_LAST_LINES:] if server.error is not None else ():
                print_notice(f"{name} | {line}")
        count = fleet_server.expose_tools()
        reached = [name for name, server in interpreter.servers.items() if server.error is None]
        print_notice(f"offering {count} tools of {len(reached)} of {len(self._fleet.servers)} servers")
        if not reached:
            raise NoServerReachedError("none of the fleet's servers could be started")


def _print_event(event: ServerEvent) -> None:
    if event.kind in {"failed", "restarted"}:
        print_notice(f"server {event.server} {event.kind}: {event.message}")
