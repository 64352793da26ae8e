"""JSON-RPC over a process's stdin and stdout, a message a line; and the process, which is gone for sure at the end.

The SDK's `stdio_client` drops a line that breaks the specification, so that its caller waits for nothing
(tests/interpreter/test_sdk.py), has no limit on a line's length, and keeps the process to itself: how a server ended,
which belongs in the answer to the call that it died in, cannot be asked. Here all three become answers.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from replay.interpreter.processes import STARTED_BY, ProcessGuard, end_groups, exit_in_words, signal_groups
from replay.interpreter.session.json_rpc import MAX_ANSWER_BYTES, ChannelClosedError, Incoming, Unreadable, encoded
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.stderr_log import RedactedLog
from replay.json_values import parse_json
from replay.records import JsonObject
from replay.safety.redaction import Redactor

_EXIT_GRACE: Final = 1.0
"""Seconds that a server has to leave by itself once its stdin is closed."""
_TERM_GRACE: Final = 1.0
_KILL_GRACE: Final = 5.0
_CHUNK: Final = 65_536
_KEPT_OF_OVERLONG_LINE: Final = 512
_FIRST_ID: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,')
_LAST_ID: Final = re.compile(rb'"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_EXIT_TIMEOUT: Final = 1.0


class StdioChannel:
    """A channel over a running process."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._lines = _LineReader(process.stdout)
        self._is_broken = False

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """Write one line."""
        del headers
        try:
            if self._is_broken:  # asyncio would log each further line
                raise anyio.BrokenResourceError
            await self._process.stdin.send(encoded(message) + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            self._is_broken = True
            raise ChannelClosedError(await self._how_it_ended()) from None

    async def receive(self) -> Incoming:
        """Read lines up to the next that is not blank."""
        while True:
            line = await self._lines.next()
            if line is None:
                raise ChannelClosedError(await self._how_it_ended())
            if isinstance(line, Unreadable):
                return line
            if line.strip():
                return _message_of(line)

    async def _how_it_ended(self) -> str:
        status = await self._process.exit_status(_EXIT_TIMEOUT)
        return f"the server {status}" if status else "the server closed its stdout"


class _LineReader:
    """Splits chunks into lines without copying what is waiting, and gives up on a line that is too long."""

    def __init__(self, stream: ByteReceiveStream) -> None:
        self._stream = stream
        self._complete: list[bytes | Unreadable] = []
        self._parts: list[bytes] = []
        self._size = 0

    async def next(self) -> bytes | Unreadable | None:
        while not self._complete:
            try:
                self._take(await self._stream.receive(_CHUNK))
            except (anyio.EndOfStream, anyio.ClosedResourceError, OSError):
                return None
        return self._complete.pop()

    def _take(self, chunk: bytes) -> None:
        """Split one more chunk."""
        head, *lines = chunk.split(b"\n")
        self._parts.append(head)
        self._size += len(head)
        if lines:
            first = self._given_up() if self._size > MAX_ANSWER_BYTES else b"".join(self._parts)
            self._complete = [*reversed(lines[:-1]), first, *self._complete]
            self._parts, self._size = [lines[-1]], len(lines[-1])
        elif self._size > MAX_ANSWER_BYTES:
            self._parts = [
                self._parts[0][:_KEPT_OF_OVERLONG_LINE],
                b"".join(self._parts[-2:])[-_KEPT_OF_OVERLONG_LINE:],
            ]

    def _given_up(self) -> Unreadable:
        size, ends = self._size, b"".join(self._parts)
        why = f"the answer of {size / 2**20:.0f} MB is longer than the limit of {MAX_ANSWER_BYTES // 2**20} MB"
        return Unreadable(why, _id_in(ends), is_answer=True)


def _message_of(line: bytes) -> Incoming:
    try:
        message = parse_json(line)
    except ValueError as problem:
        start = line.find(b'{"jsonrpc"', 1)
        if start > 0 and not line.lstrip().startswith(b"{"):
            return _message_of(line[start:])  # something was printed before it that did not end its line
        meant = line.lstrip().startswith(b"{") and b'"jsonrpc"' in line
        return Unreadable(f"a line that is not JSON ({problem})", _id_in(line) if meant else None, is_answer=meant)
    if isinstance(message, dict):
        return message
    return Unreadable("a line that is not a JSON object")


def _id_in(line: bytes) -> int | None:
    """The id of a message that cannot be read, from its ends: further inside, `"id"` may mean anything."""
    found = _FIRST_ID.search(line[:_KEPT_OF_OVERLONG_LINE]) or _LAST_ID.search(line[-_KEPT_OF_OVERLONG_LINE:])
    return int(found[1]) if found else None


class ServerProcess:
    """A running server, and its stderr on the way to the log."""

    def __init__(self, process: Process, stderr_log: RedactedLog) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stderr_log = process, stderr_log
        self.stdin, self.stdout = process.stdin, process.stdout
        self.pid = process.pid
        """Process id; also that of its process group."""

    async def exit_status(self, timeout_seconds: float) -> str | None:
        """How it ended, in words; None while it runs."""
        with anyio.move_on_after(timeout_seconds):
            await self._process.wait()
        code = self._process.returncode
        return None if code is None else exit_in_words(code)

    async def stop(self) -> None:
        """End it and all it started: close stdin, then SIGTERM, then SIGKILL, each after a grace."""
        await self.stdin.aclose()
        with anyio.move_on_after(_EXIT_GRACE):
            await self._process.wait()
        if signal_groups([self.pid], 0):
            end = partial(end_groups, [self.pid], grace=0, term_grace=_TERM_GRACE, kill_grace=_TERM_GRACE)
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
                env={**launch.env, STARTED_BY: mark},
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
