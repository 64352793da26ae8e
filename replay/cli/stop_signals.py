"""SIGTERM and SIGHUP end a verb as Ctrl-C does: servers are stopped, workspaces removed, the run file closed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ended_in_order() -> Iterator[None]:
    """While the block runs, take SIGTERM and SIGHUP for SIGINT; the exit status still names the first that came.

    A signal that is ignored, as SIGHUP is under `nohup`, stays so.
    """
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        if len(received) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if not received:
            raise
        from replay.cli.options import echo_err

        echo_err("replay: interrupted; what was done is kept, the same command goes on from there")
        raise SystemExit(128 + received[0]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
