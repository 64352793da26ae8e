"""SIGTERM, SIGINT and SIGHUP as the wish to stop."""

from __future__ import annotations

import os
import signal


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
