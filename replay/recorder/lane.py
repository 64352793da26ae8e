"""One direction of a pass-through: complete lines in, the same bytes out, with a bounded buffer between."""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

READ_SIZE: Final = 1 << 18
ATOMIC: Final = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
"""What a pipe that reports itself writable takes without blocking."""
FULL: Final = 1 << 20
"""Bytes under way at which a lane stops reading: whoever writes too fast waits, as without us."""


class Splitter:
    """Cuts a stream into lines. A line of many chunks is joined once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that a chunk completes, each with its line feed."""
        *complete, rest = chunk.split(b"\n")
        lines = []
        for part in complete:
            lines.append(b"".join((*self._pieces, part, b"\n")))
            self._pieces.clear()
        if rest:
            self._pieces.append(rest)
        return lines

    def rest(self) -> bytes:
        """What came after the last line feed."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        return rest


class Lane:
    """Passes lines from one descriptor to another.

    Neither descriptor is made non-blocking, since others may share them: it is read when readable, and written in
    pieces that a writable pipe takes whole.

    Args:
        source: descriptor to read.
        sink: descriptor to write.
        hear: is told the lines of one chunk before the first of them is passed on, and says which are.
    """

    def __init__(self, source: int, sink: int, hear: Callable[[list[bytes]], list[bytes]]) -> None:
        self.source, self.sink, self._hear = source, sink, hear
        self._splitter = Splitter()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self.ended = False
        """The source has ended."""
        self.broken = False
        """Nobody reads the sink any more."""

    @property
    def reads(self) -> bool:
        """Whether it may read on."""
        return not self.ended and self._queued < FULL

    @property
    def writes(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._queue)

    def read(self) -> None:
        """Take in what has come; call when the source is readable."""
        try:
            chunk = os.read(self.source, READ_SIZE)
        except OSError:
            chunk = b""
        if chunk:
            lines = self._splitter.feed(chunk)
        else:
            self.ended = True
            lines = [rest] if (rest := self._splitter.rest()) else []
        passed_on = self._hear(lines) if lines else lines
        if passed_on:
            self.put(b"".join(passed_on) if len(passed_on) > 1 else passed_on[0])

    def put(self, data: bytes) -> None:
        """Add bytes to what is to be written, and write at once what goes."""
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
            written = os.write(self.sink, head[:ATOMIC])
        except OSError:
            self.break_off()
            return
        self._queued -= written
        if written == len(head):
            self._queue.popleft()
        else:
            self._queue[0] = head[written:]

    def break_off(self) -> None:
        """Drop what is left: nobody will read it."""
        self.broken = True
        self._queue.clear()
        self._queued = 0


def is_writable(descriptor: int) -> bool:
    """Whether a small write would not block."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in poll.poll(0))


def turn(lanes: Sequence[Lane], alarm: int, timeout: float | None = None) -> bool:
    """Wait until something can be done, and do it.

    The lanes are read in their order: what a client has sent is heard before what its server has answered, so that
    calls which were sent together are seen together.

    Args:
        lanes: the lanes to serve.
        alarm: a descriptor that ends the wait when it becomes readable.
        timeout: seconds to wait at most; None waits on.

    Returns:
        Whether anything happened.
    """
    poll = select.poll()
    poll.register(alarm, select.POLLIN)
    for lane in lanes:
        if lane.reads:
            poll.register(lane.source, select.POLLIN)
        if lane.writes:
            poll.register(lane.sink, select.POLLOUT)
    ready = dict(poll.poll(None if timeout is None else max(timeout, 0.0) * 1000))
    for lane in lanes:
        if lane.writes and lane.sink in ready:
            lane.write() if ready[lane.sink] & select.POLLOUT else lane.break_off()
    for lane in lanes:
        if lane.reads and lane.source in ready:
            lane.read()
    return bool(ready)
