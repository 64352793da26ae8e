"""One direction of a pass-through: complete lines in, the same bytes out, a bounded buffer between; until a signal."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

READ_SIZE: Final = 1 << 18
_KEPT_OF_OVERLONG_LINE: Final = 512
MAX_ATOMIC_WRITE: Final = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
"""What a pipe that reports itself writable takes without blocking."""
MAX_LINE_BYTES: Final = 64 << 20
"""A longer line is passed on in pieces, and not read."""
MAX_QUEUED_BYTES: Final = 1 << 20
"""Queued bytes at which a pump stops reading: whoever writes too fast waits, as without us."""


class LineSplitter:
    """Cuts a stream into lines. A line of many chunks is joined once; one that is too long is not kept together."""

    def __init__(self, max_length: int = MAX_LINE_BYTES) -> None:
        self._pieces: list[bytes] = []
        self._length, self._max_length = 0, max_length
        self._overlong = False

    def feed(self, chunk: bytes) -> tuple[bytes, list[bytes]]:
        """More of a line that is too long, and then the lines that a chunk completes, each with its line feed."""
        unread = b""
        if self._overlong:
            end = chunk.find(b"\n") + 1
            unread, chunk = (chunk[:end], chunk[end:]) if end else (chunk, b"")
            self._overlong = not end
        *complete, rest = chunk.split(b"\n")
        lines = []
        for part in complete:
            lines.append(b"".join((*self._pieces, part, b"\n")))
            self._pieces.clear()
            self._length = 0
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
        return unread, lines

    def overlong_part(self) -> bytes:
        """The beginning of a line that is too long, once; empty where there is none."""
        if self._length <= self._max_length:
            return b""
        self._overlong = True
        return self.rest()

    def rest(self) -> bytes:
        """What came after the last line feed."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self._length = 0
        return rest


class LinePump:
    """Passes lines from one descriptor to another.

    Neither descriptor is made non-blocking, since others may share them: it is read when readable, and written in
    pieces that a writable pipe takes whole.

    Args:
        source: descriptor to read.
        sink: descriptor to write.
        inspect: is given the lines of one chunk before the first of them is passed on, and returns those to pass on.
        on_overlong: is given the beginning of a line that is too long to be inspected.
    """

    def __init__(
        self,
        source: int,
        sink: int,
        inspect: Callable[[list[bytes]], list[bytes]],
        on_overlong: Callable[[bytes], None] = lambda beginning: None,
    ) -> None:
        self.source, self.sink, self._inspect, self._on_overlong = source, sink, inspect, on_overlong
        self._splitter = LineSplitter()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self.ended = False
        """The source has ended."""
        self.broken = False
        """The sink has no reader any more."""

    @property
    def wants_read(self) -> bool:
        """Whether it may read on."""
        return not self.ended and self._queued < MAX_QUEUED_BYTES

    @property
    def wants_write(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._queue)

    def read(self) -> None:
        """Take in what has come; call when the source is readable."""
        try:
            chunk = os.read(self.source, READ_SIZE)
        except OSError:
            chunk = b""
        if chunk:
            unread, lines = self._splitter.feed(chunk)
            self.send(unread)
        else:
            self.ended = True
            lines = [rest] if (rest := self._splitter.rest()) else []
        passed_on = self._inspect(lines) if lines else lines
        if passed_on:
            self.send(b"".join(passed_on) if len(passed_on) > 1 else passed_on[0])
        if overlong := self._splitter.overlong_part():
            self._on_overlong(overlong[:_KEPT_OF_OVERLONG_LINE])
            self.send(overlong)

    def send(self, data: bytes) -> None:
        """Queue bytes, and write at once what the sink takes."""
        if self.broken or not data:
            return
        self._queue.append(memoryview(data))
        self._queued += len(data)
        if len(self._queue) == 1 and is_writable(self.sink):
            self.write()

    def write(self) -> None:
        """Write one piece; call when the sink is writable."""
        head = self._queue[0]
        try:
            written = os.write(self.sink, head[:MAX_ATOMIC_WRITE])
        except OSError:
            self.abort()
            return
        self._queued -= written
        if written == len(head):
            self._queue.popleft()
        else:
            self._queue[0] = head[written:]

    def abort(self) -> None:
        """Drop what is queued: nobody will read it."""
        self.broken = True
        self._queue.clear()
        self._queued = 0


def is_writable(descriptor: int) -> bool:
    """Whether a small write would not block."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))


def pump_ready(pumps: Sequence[LinePump], wakeup_fd: int, timeout: float | None = None) -> bool:
    """Wait until a descriptor is ready, then read and write what is.

    The pumps are read in their order: what a client has sent is inspected before what its server has answered, so that
    calls which were sent together are seen together.

    Args:
        pumps: the pumps to serve.
        wakeup_fd: a descriptor that ends the wait when it becomes readable.
        timeout: seconds to wait at most; None waits on.

    Returns:
        Whether anything happened.
    """
    poll = select.poll()
    poll.register(wakeup_fd, select.POLLIN)
    for pump in pumps:
        if pump.wants_read:
            poll.register(pump.source, select.POLLIN)
        if not pump.broken:  # without an event, that its reader is gone is told all the same
            poll.register(pump.sink, select.POLLOUT if pump.wants_write else 0)
    ready = dict(poll.poll(None if timeout is None else max(timeout, 0.0) * 1000))
    for pump in pumps:
        if not pump.broken and pump.sink in ready:
            pump.write() if pump.wants_write and ready[pump.sink] & select.POLLOUT else pump.abort()
    for pump in pumps:
        if pump.wants_read and pump.source in ready:
            pump.read()
    return bool(ready)


class StopSignal:
    """Whether a signal to stop has been received; `wakeup_fd` then becomes readable, so that no wait outlasts it."""

    def __init__(self) -> None:
        self.received = False
        self.wakeup_fd, self._wakeup_writer = os.pipe()
        os.set_blocking(self._wakeup_writer, False)

    def listen(self) -> None:
        """Take SIGTERM, SIGINT and SIGHUP as the wish to stop."""
        signal.set_wakeup_fd(self._wakeup_writer, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._receive)

    def _receive(self, number: int, frame: object) -> None:
        self.received = True
