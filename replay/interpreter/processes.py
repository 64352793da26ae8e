"""How a program is found, and how a process ends together with everything that it started.

Also a program of its own, which outlives a run that was killed and ends the servers that it left. As a program it must
start at once and survive what ended its parent: it imports nothing but the standard library.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

STARTED_BY: Final = "REPLAY_STARTED_BY"
"""Stands in the environment of every server; what a server starts inherits it, also in a session of its own."""
_POLL: Final = 0.01
_EOF_TIMEOUT: Final = 1.0
"""Seconds that servers have to leave by themselves once their input has ended."""
_TERM_TIMEOUT: Final = 1.0
_SWEEP_EVERY: Final = 5.0
"""Seconds: looking through all processes of the machine is not free."""
_MAX_OPEN_FILES: Final = 16_384
_OWN_DESCRIPTORS: Final = 64
"""Files that are open whatever happens: streams, run file, libraries that are loaded late."""


def find_command(command: str, *, path_first: bool = False) -> str | None:
    """The program of that name: beside the running Python first, so that `uvx` of the `uv` package works, then on PATH.

    Args:
        command: a bare name, without a directory.
        path_first: look on PATH first: for who stands in for a program that somebody else would have started.
    """
    beside = str(Path(sys.executable).parent)
    for path in (None, beside) if path_first else (beside, None):
        found = shutil.which(command, path=path)
        if found:
            return found
    return None


def spare_descriptors() -> int:
    """How many more files this process may open, once its own limit is raised as far as it may be."""
    import resource  # Windows has none, and must read this module all the same

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft - _OWN_DESCRIPTORS


def signal_groups(groups: Iterable[int], number: int) -> bool:
    """Send a signal to process groups; whether there was anyone to get it. Signal 0 only asks."""
    received = False
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            received = True
    return received


def end_groups(groups: Collection[int], *, grace: float, term_grace: float, kill_grace: float = 0.0) -> None:
    """End all processes of some process groups: wait, then SIGTERM, then SIGKILL.

    Blocks; somebody else must reap the leaders meanwhile, since a dead process that nobody has waited for still counts.

    Args:
        groups: their ids.
        grace: seconds to leave by themselves.
        term_grace: seconds from SIGTERM to SIGKILL.
        kill_grace: seconds to wait, after SIGKILL, until the last of them is gone.
    """
    if _are_gone_within(groups, grace) or not signal_groups(groups, signal.SIGTERM):
        return
    if _are_gone_within(groups, term_grace) or not signal_groups(groups, signal.SIGKILL):
        return
    _are_gone_within(groups, kill_grace)


def _are_gone_within(groups: Collection[int], seconds: float) -> bool:
    """Nothing tells when the last process of a group is gone, so it is asked for."""
    deadline = time.monotonic() + seconds
    while signal_groups(groups, 0):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL)
    return True


def exit_in_words(code: int) -> str:
    """How a process ended."""
    if code >= 0:
        return f"exited with status {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


def marked_processes(marks: Iterable[str]) -> Iterator[int]:
    """The processes whose environment began with one of these marks; none where the system has no `/proc`.

    Args:
        marks: beginnings of the variable's value.
    """
    beginnings = "|".join(re.escape(f"{STARTED_BY}={mark}") for mark in marks) or "(?!)"
    marked = re.compile(f"(?:^|\0)(?:{beginnings})".encode())
    for entry in os.scandir("/proc") if Path("/proc/self/environ").exists() else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if marked.search(Path(entry.path, "environ").read_bytes()):
                yield int(entry.name)


def end_marked(marks: Iterable[str]) -> int:
    """End the marked processes and what they start meanwhile, by SIGTERM, then SIGKILL. Gives how many there were."""
    marks, met, deadline = list(marks), set[int](), time.monotonic() + _TERM_TIMEOUT
    while running := set(marked_processes(marks)):
        late = time.monotonic() >= deadline
        for process in running if late else running - met:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL if late else signal.SIGTERM)
        met |= running
        if time.monotonic() >= deadline + _TERM_TIMEOUT:
            break
        time.sleep(_POLL)
    return len(met)


class ProcessGuard:
    """Marks the servers of one run, ends what they leave behind, and has a process that does so when we are killed."""

    def __init__(self) -> None:
        self._run = os.urandom(16).hex()
        self._numbers = count(1)
        self._ended: set[str] = set()
        self._next_sweep = 0.0
        self._watchdog: subprocess.Popen[bytes] | None = None

    def new_mark(self) -> str:
        """The mark of one more server process, for the variable `STARTED_BY` of its environment."""
        return f"{self._run}.{next(self._numbers)}."

    def started(self, group: int) -> None:
        """A server runs, and leads this process group."""
        if self._watchdog is None:
            command = [sys.executable, "-I", "-S", __file__, self._run]
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
            end_marked(marks)

    def close(self) -> None:
        """End whatever carries a mark of this run, and the watchdog."""
        if self._watchdog is None:
            return
        end_marked([self._run])
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
    end_groups(groups, grace=_EOF_TIMEOUT, term_grace=_TERM_TIMEOUT)
    end_marked([sys.argv[1]])


if __name__ == "__main__":
    main()
