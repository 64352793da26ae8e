"""Recording a whole fleet: one MCP server with all its tools, over stdio or on loopback."""

from __future__ import annotations

import signal
import socket
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from replay.errors import NoServerReachedError
from replay.interpreter.config.fleet import Fleet
from replay.interpreter.events import ServerEvent
from replay.interpreter.interpreter import Interpreter
from replay.recorder.offer import Offer
from replay.recorder.output import Output
from replay.recorder.recording import About
from replay.recorder.session import Session, Sessions
from replay.recorder.stop import say
from replay.recorder.web import WebDesk, listen, serve
from replay.redaction import Redactor


def record_fleet(servers: Path, path: Path, about: About, patterns: Sequence[str] = (), port: int | None = None) -> int:
    """Offer a fleet, and record each session: everything that `replay record -o FILE --servers FLEET` does.

    Returns:
        The exit code.

    Raises:
        ReplayError: the fleet file is wrong, the output cannot be written, or the port is taken.
    """
    fleet = Fleet.load(servers)
    fleet.require(fleet.servers)
    output = Output(path, about, Redactor(fleet.secrets(), patterns), say)
    try:
        if port is None:
            return anyio.run(_Host(fleet, output).over_stdio)
        with listen(port) as door:
            return anyio.run(_Host(fleet, output).over_http, door)
    finally:
        output.close()


class _Host:
    """The servers, and the one server in front of them."""

    def __init__(self, fleet: Fleet, output: Output) -> None:
        self._fleet, self._output = fleet, output

    async def over_stdio(self) -> int:
        """Serve one client on our standard streams."""
        async with AsyncExitStack() as stack:
            interpreter, tasks = await self._enter(stack)
            sessions = Sessions(self._output, interpreter, tasks)
            session = sessions.begin()
            offer = Offer(interpreter, _OneClient(session))
            tasks.start_soon(self._start, interpreter, offer)
            tasks.start_soon(_until_told, tasks.cancel_scope)
            async with stdio_server() as (read, write):
                await offer.server.run(read, write, offer.server.create_initialization_options())
            sessions.end(session)
            tasks.cancel_scope.cancel()
        return 0

    async def over_http(self, door: socket.socket) -> int:
        """Serve any number of clients on a listening socket."""
        async with AsyncExitStack() as stack:
            interpreter, tasks = await self._enter(stack)
            desk = WebDesk(Sessions(self._output, interpreter, tasks))
            offer = Offer(interpreter, desk)
            await self._start(interpreter, offer)
            say(f"serving on http://127.0.0.1:{door.getsockname()[1]}/mcp")
            await serve(offer.server, desk, door)
            desk.close()
            tasks.cancel_scope.cancel()
        return 0

    async def _enter(self, stack: AsyncExitStack) -> tuple[Interpreter, anyio.abc.TaskGroup]:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-record-")))
        interpreter = Interpreter(self._fleet, names=self._fleet.servers, logs=logs, on_event=_tell)
        await stack.enter_async_context(interpreter)
        return interpreter, await stack.enter_async_context(anyio.create_task_group())

    async def _start(self, interpreter: Interpreter, offer: Offer) -> None:
        await interpreter.start()
        count = offer.open()
        reached = [name for name, server in interpreter.servers.items() if server.error is None]
        say(f"offering {count} tools of {len(reached)} of {len(self._fleet.servers)} servers")
        if not reached:
            raise NoServerReachedError("none of the fleet's servers could be started")


class _OneClient:
    """Over stdio there is one client."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def session_of(self, ctx: ServerRequestContext[Any, Any]) -> Session | None:
        return self._session


async def _until_told(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()


def _tell(event: ServerEvent) -> None:
    if event.kind in {"failed", "restarted"}:
        say(f"server {event.server} {event.kind}: {event.message}")
