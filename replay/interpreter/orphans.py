"""Ends what servers leave behind. Also a program of its own, which outlives a run that was killed to do this for it.

Run as a program it must start at once and survive what ended its parent: it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "REPLAY_STARTED_BY"
"""Stands in the environment of every server; what a server starts inherits it, also in a session of its own."""
_EOF_TIMEOUT: Final = 1.0
"""Seconds that servers have to leave by themselves once their input has ended."""
_TERM_TIMEOUT: Final = 1.0
_POLL: Final = 0.02


def marked_processes(marks: Iterable[str]) -> Iterator[int]:
    """The processes whose environment began with one of these marks; none where the system has no `/proc`.

    Args:
        marks: beginnings of the variable's value.
    """
    beginnings = [f"{VARIABLE}={mark}".encode() for mark in marks]
    for entry in os.scandir("/proc") if Path("/proc/self/environ").exists() else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            variables = Path(entry.path, "environ").read_bytes().split(b"\0")
            if any(variable.startswith(beginning) for variable in variables for beginning in beginnings):
                yield int(entry.name)


def end_marked(marks: Iterable[str]) -> int:
    """End the marked processes and what they start meanwhile, by SIGTERM, then SIGKILL. Gives how many there were."""
    marks, met, deadline = list(marks), set[int](), time.monotonic() + _TERM_TIMEOUT
    while found := set(marked_processes(marks)):
        late = time.monotonic() >= deadline
        for process in found if late else found - met:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
        met |= found
        if time.monotonic() >= deadline + _TERM_TIMEOUT:
            break
        time.sleep(_POLL)
    return len(met)


def main() -> None:
    """Wait until the run that started this program is gone; end what it left.

    Its standard input names the process groups of the servers, `+123` one that started and `-123` one that ended; `.`
    says that the run ended in good order.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        word = line.strip()
        if word == ".":
            return
        if word[:1] in {"+", "-"} and word[1:].isdigit():
            (groups.add if word[0] == "+" else groups.discard)(int(word[1:]))
    _await_end(groups, _EOF_TIMEOUT)
    _signal_all(groups, signal.SIGTERM)
    end_marked([sys.argv[1]])
    _await_end(groups, _TERM_TIMEOUT)
    _signal_all(groups, signal.SIGKILL)


def _signal_all(groups: Iterable[int], number: int) -> bool:
    """Send a signal to process groups; whether there was anyone to get it."""
    found = False
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            found = True
    return found


def _await_end(groups: Iterable[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _signal_all(groups, 0) and time.monotonic() < deadline:
        time.sleep(_POLL)


if __name__ == "__main__":
    main()
