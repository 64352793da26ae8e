"""Being told to stop."""

from __future__ import annotations

import os
import signal
import sys


class Stop:
    """Whether a signal told us to stop; `alarm` becomes readable when one does, so that no wait outlasts it."""

    def __init__(self) -> None:
        self.told = False
        self.alarm, self._ring = os.pipe()
        os.set_blocking(self._ring, False)

    def listen(self) -> None:
        """Take SIGTERM, SIGINT and SIGHUP as the wish to stop."""
        signal.set_wakeup_fd(self._ring, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._tell)

    def _tell(self, number: int, frame: object) -> None:
        self.told = True


def say(line: str) -> None:
    """One line to the user, on standard error; standard output is the protocol's."""
    if sys.stderr is not None:
        sys.stderr.write(f"replay: {line}\n")
        sys.stderr.flush()
