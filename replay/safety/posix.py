"""What POSIX systems have and Windows lacks, in one place: where it is missing, what can do without it does.

Judging by recorded answers, browsing and reports need none of it. What starts servers does, and says so.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import Any, Final

from replay.errors import UsageError


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl: Final = _module("fcntl")
termios: Final = _module("termios")
msvcrt: Final = _module("msvcrt")

CLOEXEC: Final[int] = getattr(os, "O_CLOEXEC", 0)
DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""Windows alone has it: without it bytes are taken for text."""
HANGUP: Final[int | None] = getattr(signal, "SIGHUP", None)
HAS_OWNERS: Final = hasattr(os, "geteuid")
"""Files have an owner, and modes that say who may write to them."""


def lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file against every other process.

    Raises:
        BlockingIOError: another process holds the lock, and nobody wants to wait.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif msvcrt is not None:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as problem:
            raise BlockingIOError(*problem.args) from None


def require(what: str) -> None:
    """See that this is a POSIX system.

    Args:
        what: needs one; the beginning of a sentence.

    Raises:
        UsageError: it is not.
    """
    if fcntl is None:
        raise UsageError(f"{what} needs Linux, macOS or WSL; here calls are judged by recorded answers: --offline")
