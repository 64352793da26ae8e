"""A pseudo-terminal, and every byte that a program writes to it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class PseudoTerminal:
    """A program whose standard streams are a terminal of ours."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=directory, env=environment, start_new_session=True
        )
        os.close(slave)
        self.written = b""

    def read(self, seconds: float) -> bytes:
        """What comes until it was silent for so long, or ten times as long has gone by: a cursor blinks for ever."""
        start, until = len(self.written), time.monotonic() + 10 * seconds
        while time.monotonic() < until and select.select([self.master], [], [], seconds)[0]:
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                break
            if not chunk:
                break
            self.written += chunk
        return self.written[start:]

    def wait_for(self, text: bytes, seconds: float = 60) -> None:
        """Read until this was written."""
        start, until = len(self.written), time.monotonic() + seconds
        while text not in self.written[start:]:
            assert time.monotonic() < until, f"{text!r} did not come, but {self.written[start:][-2000:]!r}"
            assert self.read(0.2) or self.process.poll() is None, self.written[-2000:]

    def send(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def hang_up(self) -> None:
        """Close our end."""
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def read_to_end(self, seconds: float = 200) -> bytes:
        """All that the program writes until it ends."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, self.written[-2000:]
            self.read(0.2)
        self.read(0.2)
        return self.written


@contextmanager
def terminal_of(arguments: Sequence[str], directory: Path, **extra: str) -> Iterator[PseudoTerminal]:
    """Python with these arguments in a pseudo-terminal."""
    inherited = {name: value for name, value in os.environ.items() if name not in {"CI", "NO_COLOR"}}
    environment = {**inherited, "TERM": "xterm-256color", "PYTHONUTF8": "1", **extra}
    opened = PseudoTerminal([sys.executable, *arguments], directory, environment)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        opened.hang_up()
