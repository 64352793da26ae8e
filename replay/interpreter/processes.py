"""How a program is found, and how a process ends together with everything that it started.

Stands outside `interpreter/` because a recording pass-through starts on every start of its client, and must not pay for
loading the MCP host first.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_POLL: Final = 0.01
_MAX_OPEN_FILES: Final = 16_384
_OWN_DESCRIPTORS: Final = 64
"""Files that are open whatever happens: streams, run file, libraries that are loaded late."""
_OBJECTS_BEFORE_COLLECTION: Final = 20_000
"""Made since the garbage collector looked last, less those that are gone."""


@contextmanager
def modules_not_collected() -> Iterator[None]:
    """Spare the garbage collector what was made before: it would walk through all modules again and again.

    It also looks less often: what is made to judge a call holds nothing that holds it in turn, and goes without it.
    """
    often = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(often[0], _OBJECTS_BEFORE_COLLECTION), *often[1:])
    try:
        yield
    finally:
        gc.set_threshold(*often)
        gc.unfreeze()


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
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return _MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else soft - _OWN_DESCRIPTORS


def signal_process_group(group: int, number: int) -> bool:
    """Send a signal to a process group; whether there was anyone to get it. Signal 0 only asks."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end_process_group(group: int, *, grace: float, term_grace: float, kill_grace: float = 0.0) -> None:
    """End all processes of a group: wait, then SIGTERM, then SIGKILL.

    Blocks; somebody else must reap the leader meanwhile, since a dead process that nobody has waited for still counts.

    Args:
        group: its id.
        grace: seconds to leave by itself.
        term_grace: seconds from SIGTERM to SIGKILL.
        kill_grace: seconds to wait, after SIGKILL, until the last of them is gone.
    """
    if _is_gone_within(group, grace) or not signal_process_group(group, signal.SIGTERM):
        return
    if _is_gone_within(group, term_grace) or not signal_process_group(group, signal.SIGKILL):
        return
    _is_gone_within(group, kill_grace)


def _is_gone_within(group: int, seconds: float) -> bool:
    """Nothing tells when the last process of a group is gone, so it is asked for."""
    deadline = time.monotonic() + seconds
    while signal_process_group(group, 0):
        if time.monotonic() >= deadline:
            return False
        select.select([], [], [], _POLL)
    return True
