"""A server process that cannot outlive its recorder, not even one that is killed with `kill -9`."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from replay.processes import end_process_group, signal_process_group

_POLITE: Final = 1.0
"""Seconds that a server has to leave by itself once its standard input has ended."""
_FIRM: Final = 0.5
"""Seconds from SIGTERM to SIGKILL."""


class Guard:
    """A small process of its own that ends a process group as soon as we are gone.

    Servers started through `npx` or `uvx` are trees of processes, some of which ignore the end of their input; and a
    recorder that was killed can end nothing itself. Fork it before any thread is started.
    """

    def __init__(self) -> None:
        ours, self._line = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _keep_watch(ours)
        os.close(ours)

    def watch(self, group: int) -> None:
        """Name the group to end."""
        os.write(self._line, b"%d\n" % group)

    def dismiss(self) -> None:
        """All is over; the guard goes."""
        with suppress(OSError):
            os.write(self._line, b"0\n")
        os.close(self._line)
        os.waitpid(self._pid, 0)


def start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a server in a process group of its own; what it says on standard error goes where ours goes.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0, bufsize=0)


def end(process: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for a server to leave, then make its whole group leave."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(patience, 0))
    if process.poll() is None:
        signal_process_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_FIRM)
    end_process_group(process.pid, grace=0, term_grace=_FIRM)
    process.wait()


def exit_in_words(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.poll()
    if code is None:
        return "closed its output"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def _keep_watch(line: int) -> None:
    """The guard's whole life."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.dup2(line, 0)
        os.closerange(1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1 << 16 else 1 << 16)
        heard = b""
        while chunk := os.read(0, 64):
            heard += chunk
        group = int(heard.split()[-1]) if heard.split() else 0
        if group:
            end_process_group(group, grace=_POLITE, term_grace=_FIRM)
    finally:
        os._exit(0)
