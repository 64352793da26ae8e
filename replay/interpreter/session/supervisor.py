"""Keeps one server going: starts it when it is needed, restarts it when it dies or falls silent, gives up in time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import anyio
from anyio.abc import TaskGroup

from replay.errors import FleetError
from replay.interpreter.config.specs import ServerSpec
from replay.interpreter.session.handshake import ServerHistory
from replay.interpreter.session.json_rpc import Exchange
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.server_connection import ServerConnection
from replay.interpreter.session.stderr_log import tail_of
from replay.json_values import without_lone_surrogates
from replay.records import Answer, JsonObject, Record, Server, TransportFault
from replay.safety.redaction import Redactor
from replay.safety.text import one_line, printable

_PING_TIMEOUT: Final = 5.0
_STDERR_PAUSES: Final = (0.005, 0.01, 0.02)
"""Seconds to wait for what a server wrote: it goes through a pipe and a thread that takes the secrets out."""
_STDERR_GROWS: Final = (0.01,) * 20
"""Seconds between two looks at a log that grows: a long trace comes in several pieces."""
_MAX_REASON_LENGTH: Final = 300
_LINES_OF_A_CALL: Final = 120
_BYTES_OF_A_CALL: Final = 262_144
"""What is kept of what a server wrote during a call: a trace with all of its causes."""


EventKind = Literal["starting", "started", "failed", "restarted"]


class ServerEvent(Record):
    """Something happened to a server."""

    server: str
    kind: EventKind
    message: str = ""
    """Why it failed, or was restarted."""
    trajectory: str | None = None
    """Whose own process it is; None for a shared one."""
    log: Path | None = None
    """Of a server that failed: where what it wrote to stderr stands, often the reason; None if it wrote nothing."""
    stderr_tail: str | None = None
    """The last lines of that."""


OnEvent = Callable[[ServerEvent], None]


class Supervisor:
    """One server of the fleet across all its restarts."""

    def __init__(  # noqa: PLR0913
        self,
        name: str,
        spec: ServerSpec,
        launch: Callable[[], Launch],
        *,
        log: Path,
        tasks: TaskGroup,
        history: ServerHistory,
        on_event: OnEvent,
        redactor: Redactor,
        trajectory: str | None = None,
    ) -> None:
        self.name, self.spec = name, spec
        self._launch, self._log, self._tasks, self._history = launch, log, tasks, history
        self._on_event, self._redactor, self._trajectory = on_event, redactor, trajectory
        self._starting = anyio.Lock()
        self._current: ServerConnection | None = None
        self._starts = 0
        self._silent_since: int | None = None
        """What the server had said when a call to it timed out, if it has said nothing since that call was sent."""
        self._last_error: str | None = None

    async def start(self) -> Server:
        """Start it, and describe it or say why it did not come up."""
        connection = await self._alive()
        if isinstance(connection, ServerConnection):
            try:
                return connection.describe(self.name, self.spec.state)
            except (ValueError, TypeError, RecursionError) as problem:
                connection = self._failed(f"what it says of itself cannot be used: {problem}")
        return Server(
            name=self.name,
            state=self.spec.state,
            error=connection.message,
            stderr_tail=self._stderr_tail(),
            notes=self._history.notes,
        )

    async def call(self, tool: str, arguments: JsonObject, exchange: Exchange | None = None) -> Answer:
        """Call a tool. Never raises for what the server does; its start is not in the seconds of the exchange."""
        if exchange is not None:
            exchange.log_mark = self._log_end()
        connection = await self._alive()
        if isinstance(connection, TransportFault):
            return connection
        before = connection.messages_received
        try:
            answer = await connection.call(tool, arguments, self.spec.call_timeout, exchange)
        except Exception as problem:  # noqa: BLE001 - whatever the server does is an answer
            why = one_line(f"its answer cannot be used: {type(problem).__name__}: {problem}", _MAX_REASON_LENGTH)
            answer = TransportFault(fault="unreadable", message=without_lone_surrogates(why))
        timed_out = isinstance(answer, TransportFault) and answer.fault == "timeout"
        if timed_out and connection.messages_received == before:
            self._silent_since = before
        return answer

    def _log_end(self) -> int:
        """Where the log of its stderr ends now."""
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    async def stderr_since(self, mark: int) -> str:
        """The last lines that it wrote to stderr since; waits a moment for them to reach the log, and for their end."""
        for pause in _STDERR_PAUSES:
            if self._log_end() > mark:
                break
            await anyio.sleep(pause)
        read = mark
        for pause in _STDERR_GROWS:
            size = self._log_end()
            if size == read:
                break
            read = size
            await anyio.sleep(pause)
        return printable(tail_of(self._log, mark, lines=_LINES_OF_A_CALL, size=_BYTES_OF_A_CALL))

    async def stop(self) -> None:
        """End it for good."""
        if self._current is not None:
            await self._current.stop()
        if self._log.exists() and not self._log.stat().st_size:
            self._log.unlink()

    async def _alive(self) -> ServerConnection | TransportFault:
        current = self._current
        if current is not None and current.alive and self._silent_since is None:
            return current
        async with self._starting:
            current = self._current
            if current is not None and current.alive:
                if not await self._fell_silent(current):
                    return current
                await current.stop()
                self._last_error = "it stopped answering"
            return await self._start_again()

    async def _fell_silent(self, connection: ServerConnection) -> bool:
        silent_since, self._silent_since = self._silent_since, None
        if silent_since is None or connection.messages_received > silent_since:
            return False
        return not await connection.answers_ping(min(_PING_TIMEOUT, self.spec.call_timeout))

    async def _start_again(self) -> ServerConnection | TransportFault:
        if self._starts and self._current is not None and self._current.error is None:
            await self._current.ended.wait()
        if self._starts > self.spec.max_restarts or (self._starts and self._never_came_up()):
            return self._given_up()
        self._emit("starting" if not self._starts else "restarted", self._last_error or "")
        self._starts += 1
        try:
            launch = self._launch()
        except (FleetError, CannotStartError) as problem:
            return self._failed(str(problem))
        connection = await self._connect(launch)
        if connection.disconnected_on_probe:
            self._history.wants_initialize = True
            connection = await self._connect(launch)
        if connection.error is not None:
            return self._failed(connection.error)
        self._last_error = "it ended"
        self._emit("started")
        return connection

    async def _connect(self, launch: Launch) -> ServerConnection:
        connection = self._current = ServerConnection(
            launch, self._log, self.spec.startup_timeout, self._history, self._redactor
        )
        self._tasks.start_soon(connection.run)
        await connection.ready_or_failed.wait()
        return connection

    def _never_came_up(self) -> bool:
        """A server whose first start failed is not tried again."""
        return self._starts == 1 and (self._current is None or self._current.error is not None)

    def _failed(self, why: str) -> TransportFault:
        self._last_error = one_line(self._redactor.text(why), _MAX_REASON_LENGTH)
        self._emit("failed", self._last_error)
        return TransportFault(fault="not-started", message=self._last_error)

    def _given_up(self) -> TransportFault:
        restarts = self._starts - 1
        again = f"; it was restarted {restarts} times already" if restarts else ""
        return TransportFault(fault="not-started", message=f"{self._last_error or 'it ended'}{again}")

    def _stderr_tail(self) -> str | None:
        tail = self._current.stderr_tail() if self._current else None
        return printable(self._redactor.text(tail)) if tail else None

    def _emit(self, kind: EventKind, message: str = "") -> None:
        tail = self._stderr_tail() if kind == "failed" else None
        log = self._log if tail else None
        self._on_event(
            ServerEvent(
                server=self.name, kind=kind, message=message, trajectory=self._trajectory, log=log, stderr_tail=tail
            )
        )
