"""Recording a whole fleet: one MCP server with all its tools, over stdio or on loopback.

Each client has a session: its recording, and the servers that are its own.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.abc

from replay.errors import NoServerReachedError, ReplayError
from replay.interpreter.config.fleet import Fleet
from replay.interpreter.interpreter import Interpreter, Sandbox
from replay.interpreter.session.supervisor import ServerEvent
from replay.recorder.assembly import to_response
from replay.recorder.fleet_server import FleetServer, FleetSession, ServerTool
from replay.recorder.http_server import Access, HttpSessionResolver, listen, print_address, serve
from replay.recorder.recording import Recording, RecordingInfo, print_notice
from replay.recorder.recording_store import RecordingStore
from replay.records import Answer, JsonObject, Server, TransportFault
from replay.safety.redaction import Redactor
from replay.safety.text import one_line

_LAST_LINES: Final = 6
"""What is shown of what a server wrote that did not start; its log goes with the recorder."""


class RecordingSession(FleetSession):
    """Records the calls of one client, and sends them on."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._caller: Sandbox | None = None
        self._failure = "the session has ended"
        self._servers_ready, self._ended = anyio.Event(), anyio.Event()

    async def hold_servers(self, interpreter: Interpreter, trajectory: str) -> None:
        """Hold the session's own servers until `end`: a sandbox must be left by the task that entered it."""
        try:
            async with interpreter.sandbox(trajectory) as sandbox:
                self._caller = sandbox
                self._servers_ready.set()
                await self._ended.wait()
        except Exception as problem:  # noqa: BLE001 - what goes wrong with one session must not end the others
            self._failure = one_line(f"{type(problem).__name__}: {problem}", 300)
        finally:
            self._caller = None
            self._servers_ready.set()

    def end(self) -> None:
        """The client has disconnected."""
        self._ended.set()

    @property
    def has_calls(self) -> bool:
        """Whether the client called a tool."""
        return bool(self.recording.calls)

    def record_servers(self, servers: Mapping[str, Server]) -> None:
        """Record the servers as they are known by now."""
        for server in servers.values():
            self.recording.server(server.model_dump(mode="json"))

    async def call(self, request: dict[str, Any], target: ServerTool, arguments: JsonObject) -> Answer:
        """Record a call, make it, and record its answer before giving it."""
        number = self.recording.call(request, server=target.server, tool=target.tool)
        try:
            await self._servers_ready.wait()
            if self._caller is None:
                answer: Answer = TransportFault(fault="not-started", message=self._failure)
            else:
                answer = await self._caller.call(target.server, target.tool, arguments)
        except anyio.get_cancelled_exc_class():
            self.recording.fault(number, "closed", "the client cancelled the call")
            raise
        if isinstance(answer, TransportFault):
            self.recording.fault(number, answer.fault, answer.message)
        else:
            self.recording.answer(number, to_response(answer))
        return answer

    def record_rejected(self, request: dict[str, Any], code: int, message: str) -> None:
        """Record a call that goes to no server, and the error that the client gets."""
        number = self.recording.call(request)
        self.recording.answer(number, {"error": {"code": code, "message": message}})


class SessionManager:
    """All sessions: begins and ends them."""

    def __init__(self, store: RecordingStore, interpreter: Interpreter, tasks: anyio.abc.TaskGroup) -> None:
        self._store, self._interpreter, self._tasks = store, interpreter, tasks
        self._count = 0

    def begin(self, identifier: str | None = None) -> RecordingSession:
        """A client has connected.

        Args:
            identifier: the trajectory's id, where the client chose one.
        """
        self._count += 1
        session = RecordingSession(self._store.begin(identifier))
        self._tasks.start_soon(session.hold_servers, self._interpreter, identifier or f"session-{self._count}")
        return session

    def end(self, session: RecordingSession) -> None:
        """The client has disconnected: write its trajectory."""
        session.end()
        try:
            self._store.finish(session.recording)
        except (ReplayError, OSError) as problem:
            self._store.notify(f"a recording could not be finished: {problem}")


def record_fleet(
    fleet: Fleet,
    path: Path,
    info: RecordingInfo,
    patterns: Sequence[str] = (),
    port: int | None = None,
    access: Access | None = None,
) -> None:
    """Serve a fleet, and record each session: everything that `replay record -o FILE --servers FLEET` does.

    Args:
        fleet: the servers.
        path: of the trajectory file.
        info: id, model and task.
        patterns: what is taken out of the recording, beside the fleet's secrets.
        port: on loopback, to serve there; stdio where None.
        access: who may use the port; by default those to whom the user gives the token that is printed.

    Raises:
        ReplayError: the fleet file is wrong, the file cannot be written, or the port is taken.
    """
    fleet.require(fleet.servers)
    store = RecordingStore(path, info, Redactor(fleet.secrets(), patterns), print_notice)
    try:
        if port is None:
            anyio.run(_serve_stdio, fleet, store)
            return
        with listen(port) as listener:
            anyio.run(_serve_http, fleet, store, listener, access or Access())
    finally:
        store.close()


@asynccontextmanager
async def _interpreting(fleet: Fleet) -> AsyncIterator[tuple[Interpreter, anyio.abc.TaskGroup]]:
    """The interpreter of a fleet, not started yet, and tasks that end with it."""
    with tempfile.TemporaryDirectory(prefix="replay-record-") as logs:
        interpreter = Interpreter(fleet, names=fleet.servers, logs=Path(logs), on_event=_print_event)
        async with interpreter, anyio.create_task_group() as tasks:
            yield interpreter, tasks
            tasks.cancel_scope.cancel()


async def _serve_stdio(fleet: Fleet, store: RecordingStore) -> None:
    """Serve one client on our standard streams."""
    async with _interpreting(fleet) as (interpreter, tasks):
        sessions = SessionManager(store, interpreter, tasks)
        session = sessions.begin()
        fleet_server = FleetServer(lambda: interpreter.servers, lambda ctx: session)
        tasks.start_soon(_start, interpreter, fleet_server)
        await fleet_server.serve_stdio(tasks)
        sessions.end(session)


async def _serve_http(fleet: Fleet, store: RecordingStore, listener: socket.socket, access: Access) -> None:
    """Serve any number of clients on a listening socket."""
    async with _interpreting(fleet) as (interpreter, tasks):
        resolver = HttpSessionResolver(SessionManager(store, interpreter, tasks))
        fleet_server = FleetServer(lambda: interpreter.servers, resolver.session_of)
        await _start(interpreter, fleet_server)
        print_address(listener, access)
        if access.token is None:
            print_notice("without authentication: every program on this machine may call the tools of the fleet")
        await serve(fleet_server.server, resolver, listener, access)


async def _start(interpreter: Interpreter, fleet_server: FleetServer) -> None:
    await interpreter.start()
    for name, server in interpreter.servers.items():
        for line in (server.stderr_tail or "").splitlines()[-_LAST_LINES:] if server.error is not None else ():
            print_notice(f"{name} | {line}")
    count = fleet_server.expose_tools()
    reached = [name for name, server in interpreter.servers.items() if server.error is None]
    print_notice(f"offering {count} tools of {len(reached)} of {len(interpreter.fleet.servers)} servers")
    if not reached:
        raise NoServerReachedError("none of the fleet's servers could be started")


def _print_event(event: ServerEvent) -> None:
    if event.kind in {"failed", "restarted"}:
        print_notice(f"server {event.server} {event.kind}: {event.message}")
