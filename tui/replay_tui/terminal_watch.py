"""Ends the browser with its terminal."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
import time

_PAUSE_SECONDS = 1.0


def end_with_terminal() -> None:
    """Watch the terminal from a thread of its own, and end when its other end was closed.

    The kernel says so to the foreground of a session only; and a program that writes to a terminal that is gone waits
    for ever. So this neither relies on the signal nor on the screens.
    """
    threading.Thread(target=_watch, name="terminal-watch", daemon=True).start()


def _watch() -> None:
    while not _is_gone():
        time.sleep(_PAUSE_SECONDS)
    os.kill(os.getpid(), signal.SIGHUP)


def _is_gone() -> bool:
    try:
        termios.tcgetattr(sys.__stdin__ or 0)
    except (termios.error, OSError, ValueError):
        return True
    return False
