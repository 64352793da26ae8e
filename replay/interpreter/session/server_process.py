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
from anyio.lowlevel import checkpoint

from replay.interpreter.orphans import VARIABLE
from replay.interpreter.processes import end_process_group, signal_process_group
from replay.interpreter.session.boxed_trace import unboxed
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.process_guard import ProcessGuard
from replay.interpreter.session.stderr_log import RedactedLog
from replay.safety.redaction import Redactor

_EXIT_GRACE: Final = 1.0
"""Seconds that a server has to leave by itself once its stdin is closed."""
_TERM_GRACE: Final = 1.0
_KILL_GRACE: Final = 5.0
_CHUNK: Final = 65_536
_CLOSED: Final = -1
_TAIL_LINES: Final = 20
_TAIL_BYTES: Final = 65_536
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class ServerProcess:
    """A running server, and its stderr on the way to the log."""

    def __init__(self, process: Process, pipes: Pipes, stderr_log: RedactedLog) -> None:
        self._process, self._pipes, self._stderr_log = process, pipes, stderr_log
        self._unsent = memoryview(b"")
        self._took_without_waiting = False

    @property
    def pid(self) -> int:
        """Process id; also that of its process group."""
        return self._process.pid

    def write(self, data: bytes) -> bool:
        """Write to its stdin; gives whether all of it went through, else `drain` writes the rest.

        Raises anyio's resource errors or OSError when it is gone.
        """
        self._unsent = memoryview(bytes(self._unsent) + data if self._unsent else data)
        return self._push()

    async def drain(self) -> None:
        """Write what its stdin did not take at once; for one task at a time. What is left when cancelled is kept."""
        while not self._push():
            await anyio.wait_writable(self._pipes.stdin)

    def _push(self) -> bool:
        while self._unsent:
            try:
                written = os.write(self._pipes.open_stdin(), self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[written:]
        return True

    async def read(self) -> bytes:
        """The next chunk of its stdout; empty at the end."""
        if self._took_without_waiting:  # of a server that never stops to write others must hear too
            await checkpoint()
        chunk = self._read_now()
        self._took_without_waiting = chunk is not None
        while chunk is None:
            try:
                await anyio.wait_readable(self._pipes.stdout)
            except (anyio.ClosedResourceError, OSError):
                return b""
            chunk = self._read_now()
        return chunk

    def _read_now(self) -> bytes | None:
        """What it wrote to stdout so far; empty at the end, None where nothing is there yet."""
        try:
            return os.read(self._pipes.stdout, _CHUNK)
        except BlockingIOError:
            return None
        except OSError:
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
        self._pipes.close_stdin()
        with anyio.move_on_after(_EXIT_GRACE):
            await self._process.wait()
        if signal_process_group(self.pid, 0):
            end = partial(end_process_group, self.pid, grace=0, term_grace=_TERM_GRACE, kill_grace=_TERM_GRACE)
            await anyio.to_thread.run_sync(end)
        with anyio.move_on_after(_KILL_GRACE):
            await self._process.wait()
        with suppress(OSError, ProcessLookupError):
            await self._process.aclose()
        self._pipes.close()
        await anyio.to_thread.run_sync(self._stderr_log.drain)


class Pipes:
    """Our ends of a server's stdin and stdout; neither makes us wait."""

    def __init__(self) -> None:
        self.servers_stdin, self.stdin = os.pipe()
        self.stdout, self.servers_stdout = os.pipe()
        os.set_blocking(self.stdin, False)
        os.set_blocking(self.stdout, False)

    def close_servers(self) -> None:
        """Close the server's ends, which it has for itself once it runs."""
        os.close(self.servers_stdin)
        os.close(self.servers_stdout)

    def open_stdin(self) -> int:
        """The end to write to. Raises anyio's ClosedResourceError when it was closed."""
        if self.stdin == _CLOSED:
            raise anyio.ClosedResourceError
        return self.stdin

    def close_stdin(self) -> None:
        """Let the server see the end of its stdin."""
        self.stdin = _close(self.stdin)

    def close(self) -> None:
        """Close both of our ends."""
        self.close_stdin()
        self.stdout = _close(self.stdout)


def _close(descriptor: int) -> int:
    if descriptor != _CLOSED:
        anyio.notify_closing(descriptor)
        os.close(descriptor)
    return _CLOSED


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
    pipes = Pipes()
    try:
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                launch.command,
                env={**launch.env, VARIABLE: mark},
                cwd=launch.cwd,
                stdin=pipes.servers_stdin,
                stdout=pipes.servers_stdout,
                stderr=stderr_log.write_end,
                start_new_session=True,
            )
            guard.started(process.pid)
    except (OSError, ValueError) as problem:
        stderr_log.abandon()
        pipes.close()
        raise CannotStartError(f"{launch.command[0]} cannot be started: {problem}") from None
    finally:
        pipes.close_servers()
    stderr_log.start()
    server = ServerProcess(process, pipes, stderr_log)
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
