"""A server process that cannot outlive its recorder, not even one that is killed with `kill -9`."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from replay.interpreter.orphans import VARIABLE, end_marked
from replay.interpreter.processes import end_process_group, signal_process_group

_EOF_TIMEOUT: Final = 1.0
"""Seconds that a server has to exit by itself once its standard input has ended."""
_SIGTERM_TIMEOUT: Final = 0.5
"""Seconds from SIGTERM to SIGKILL."""


class Watchdog:
    """A small process of its own that ends a process group as soon as this process has ended.

    Servers started through `npx` or `uvx` are trees of processes, some of which ignore the end of their input; and a
    recorder that was killed can end nothing itself. Fork it before any thread is started.
    """

    def __init__(self) -> None:
        self.mark = f"{secrets.token_hex(16)}."
        """Of the server's environment, and so of whatever it starts, also in a session of its own."""
        read_end, self._write_end = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _run_watchdog(read_end, self.mark)
        os.close(read_end)

    def watch(self, group: int) -> None:
        """Name the process group to end."""
        os.write(self._write_end, b"%d\n" % group)

    def dismiss(self) -> None:
        """The server has ended; end the watchdog too."""
        with suppress(OSError):
            os.write(self._write_end, b"0\n")
        os.close(self._write_end)
        os.waitpid(self._pid, 0)


def start_server(command: Sequence[str], mark: str) -> subprocess.Popen[bytes]:
    """Start a server in a process group of its own, with the mark of its watchdog; its standard error is ours.

    Raises:
        OSError: it cannot be started.
    """
    pipe, environment = subprocess.PIPE, {**os.environ, VARIABLE: mark}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, process_group=0, bufsize=0)


def end_server(process: subprocess.Popen[bytes], timeout: float, mark: str) -> None:
    """Wait for a server to exit, then kill its whole process group, and what else has its mark."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(timeout, 0))
    if process.poll() is None:
        signal_process_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SIGTERM_TIMEOUT)
    end_process_group(process.pid, grace=0, term_grace=_SIGTERM_TIMEOUT)
    process.wait()
    end_marked([mark])


def describe_exit(process: subprocess.Popen[bytes]) -> str:
    """How a process ended."""
    code = process.poll()
    if code is None:
        return "closed its output"
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def _run_watchdog(read_end: int, mark: str) -> None:
    """The watchdog's main function; it never returns."""
    try:
        os.setsid()
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signal_number, signal.SIG_IGN)
        os.dup2(read_end, 0)
        os.closerange(1, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1 << 16 else 1 << 16)
        received = b""
        while chunk := os.read(0, 64):
            received += chunk
        group = int(received.split()[-1]) if received.split() else 0
        if group:
            end_process_group(group, grace=_EOF_TIMEOUT, term_grace=_SIGTERM_TIMEOUT)
            end_marked([mark])
    finally:
        os._exit(0)
