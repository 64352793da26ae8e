"""Sees to it that no process of a run outlives it: not one that a server started and forgot, not after `kill -9`."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from typing import Final

from replay.interpreter import orphans

_SWEEP_EVERY: Final = 5.0
"""Seconds: looking through all processes of the machine is not free."""


class ProcessGuard:
    """Marks the servers of one run, ends what they leave behind, and has a process that does so when we are killed."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(16)
        self._numbers = count(1)
        self._ended: set[str] = set()
        self._next_sweep = 0.0
        self._watchdog: subprocess.Popen[bytes] | None = None

    def new_mark(self) -> str:
        """The mark of one more server process, for the variable `orphans.VARIABLE` of its environment."""
        return f"{self._run}.{next(self._numbers)}."

    def started(self, group: int) -> None:
        """A server runs, and leads this process group."""
        if self._watchdog is None:
            command = [sys.executable, "-I", "-S", orphans.__file__, self._run]
            quiet = subprocess.DEVNULL
            with suppress(OSError):
                self._watchdog = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
                )
        self._tell(f"+{group}")

    def ended(self, group: int, mark: str) -> None:
        """A server and its process group are gone; what else carries its mark is ended now or at the next sweep."""
        self._tell(f"-{group}")
        self._ended.add(mark)
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _SWEEP_EVERY
            marks, self._ended = self._ended, set()
            orphans.end_marked(marks)

    def close(self) -> None:
        """End whatever carries a mark of this run, and the watchdog."""
        if self._watchdog is None:
            return
        orphans.end_marked([self._run])
        self._tell(".")
        with suppress(OSError):
            if self._watchdog.stdin is not None:
                self._watchdog.stdin.close()
        self._watchdog.wait()
        self._watchdog = None

    def _tell(self, word: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with suppress(OSError):
                self._watchdog.stdin.write(f"{word}\n".encode())
                self._watchdog.stdin.flush()
