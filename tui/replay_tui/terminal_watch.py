"""Ends the browser with its terminal."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_PAUSE_SECONDS: Final = 1.0


def end_with_terminal(clean_up: Callable[[], None] | None = None) -> None:
    """Watch the terminal from a thread of its own, and end when its other end was closed.

    The kernel says so to the foreground of a session only, and not to who ignores the signal; and a program that writes
    to a terminal that is gone waits for ever. So this relies on neither the signal nor the screens.

    Args:
        clean_up: called before the end.
    """
    threading.Thread(target=_watch, args=(clean_up,), name="terminal-watch", daemon=True).start()


def _watch(clean_up: Callable[[], None] | None) -> None:
    while not _is_gone():
        time.sleep(_PAUSE_SECONDS)
    if clean_up is not None:
        with suppress(OSError):
            clean_up()
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(_PAUSE_SECONDS)
    os._exit(128 + signal.SIGHUP)  # the signal is ignored, as under nohup: the screens would spin on the end of input


def _is_gone() -> bool:
    try:
        termios.tcgetattr(sys.__stdin__ or 0)
    except (termios.error, OSError, ValueError):
        return True
    return False
