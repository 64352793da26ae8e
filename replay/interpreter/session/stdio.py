"""JSON-RPC over a process's stdin and stdout, a message a line.

The SDK's `stdio_client` drops a line that breaks the specification, so that its caller waits for nothing
(tests/interpreter/test_sdk.py), and has no limit on a line's length; here both become answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from replay.interpreter.session.channel import MAX_ANSWER_BYTES, ChannelClosedError, Incoming, Unreadable, encoded
from replay.interpreter.session.server_process import ServerProcess
from replay.json_values import parse_json
from replay.records import JsonObject

_KEPT_OF_OVERLONG_LINE: Final = 512
_FIRST_ID: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,')
_LAST_ID: Final = re.compile(rb'"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
_EXIT_TIMEOUT: Final = 1.0


class StdioChannel:
    """A channel over a running process."""

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._lines = _LineReader(process)
        self._writing = anyio.Lock(fast_acquire=True)

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """Write one line."""
        del headers
        line = encoded(message) + b"\n"
        await checkpoint_if_cancelled()
        try:
            if not self._process.write(line):
                async with self._writing:
                    await self._process.drain()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
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

    def __init__(self, process: ServerProcess) -> None:
        self._process = process
        self._complete: list[bytes | Unreadable] = []
        self._parts: list[bytes] = []
        self._size = 0

    async def next(self) -> bytes | Unreadable | None:
        while not self._complete:
            chunk = await self._process.read()
            if not chunk:
                return None
            self._take(chunk)
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
