"""A server's process: in a session of its own, its stderr in a log file, and gone for sure when we are done.

The SDK's `stdio_client` starts and ends processes alike, but keeps the process to itself: how a server ended, which
belongs in the answer to the call that it died in, cannot be asked.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import Process

from replay.interpreter.session.boxed_trace import unboxed
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.process_guard import ProcessGuard
from replay.interpreter.session.stderr_log import RedactedLog
from replay.orphans import VARIABLE
from replay.processes import end_process_group, signal_process_group
from replay.redaction import Redactor

_EXIT_GRACE: Final = 1.0
"""Seconds that a server has to leave by itself once its stdin is closed."""
_TERM_GRACE: Final = 1.0
_KILL_GRACE: Final = 5.0
_TAIL_LINES: Final = 20
_TAIL_BYTES: Final = 65_536
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class ServerProcess:
    """A running server, and its stderr on the way to the log."""

    def __init__(self, process: Process, stderr_log: RedactedLog) -> None:
        self._process, self._stderr_log = process, stderr_log

    @property
    def pid(self) -> int:
        """Process id; also that of its process group."""
        return self._process.pid

    async def write(self, data: bytes) -> None:
        """Write to its stdin. Raises anyio's resource errors or OSError when it is gone."""
        assert self._process.stdin is not None
        await self._process.stdin.send(data)

    async def read(self) -> bytes:
        """The next chunk of its stdout; empty at the end."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            return b""

    async def exit_status(self, timeout_seconds: float) -> str | None:
        """How it ended, in words; None while it runs."""
        with anyio.move_on_after(timeout_seconds):
            await self._process.wait()
        code = self._process.returncode
        if code is None:
            return None
        if code >= 0:
            return f"exited with status {code}"
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    async def stop(self) -> None:
        """End it and all it started: close stdin, then SIGTERM, then SIGKILL, each after a grace."""
        assert self._process.stdin is not None
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError), anyio.move_on_after(_EXIT_GRACE):
            await self._process.stdin.aclose()
        with anyio.move_on_after(_EXIT_GRACE):
            await self._process.wait()
        if signal_process_group(self.pid, 0):
            end = partial(end_process_group, self.pid, grace=0, term_grace=_TERM_GRACE, kill_grace=_TERM_GRACE)
            await anyio.to_thread.run_sync(end)
        with anyio.move_on_after(_KILL_GRACE):
            await self._process.wait()
        with suppress(OSError, ProcessLookupError):
            await self._process.aclose()
        await anyio.to_thread.run_sync(self._stderr_log.drain)


@asynccontextmanager
async def running(launch: Launch, log: Path, redactor: Redactor) -> AsyncIterator[ServerProcess]:
    """Start a server's process; stop it at the end whatever happens.

    Args:
        launch: how it starts.
        log: gets its stderr.
        redactor: takes the secrets out of that first.

    Raises:
        CannotStartError: the operating system refuses.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    stderr_log = RedactedLog(log, redactor)
    guard = launch.guard or ProcessGuard()
    mark = guard.new_mark()
    try:
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                launch.command,
                env={**launch.env, VARIABLE: mark},
                cwd=launch.cwd,
                stderr=stderr_log.write_end,
                start_new_session=True,
            )
            guard.started(process.pid)
    except (OSError, ValueError) as problem:
        stderr_log.abandon()
        raise CannotStartError(f"{launch.command[0]} cannot be started: {problem}") from None
    stderr_log.start()
    server = ServerProcess(process, stderr_log)
    try:
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop()
            await anyio.to_thread.run_sync(guard.ended, server.pid, mark)
            if guard is not launch.guard:
                await anyio.to_thread.run_sync(guard.close)


def tail_of(log: Path, start: int = 0, *, lines: int = _TAIL_LINES, size: int = _TAIL_BYTES) -> str:
    """The last lines of a log from byte `start` on, without colours; traces in boxes stand as plain ones.

    Args:
        log: may be missing.
        start: in bytes.
        lines: at most so many.
        size: bytes that are looked at, at most.
    """
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start, end - size))
            text = file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
    plain = unboxed(_COLOUR.sub("", text))
    return "\n".join([line.rstrip() for line in plain.splitlines() if line.strip()][-lines:])
