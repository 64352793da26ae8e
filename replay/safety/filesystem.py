"""Files that are written whole or not at all, and locks that end with the process that holds them."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TextIO

from replay.records import Record
from replay.records.files import dump

_POLL_SECONDS: Final = 0.02


@contextmanager
def atomic_writer(path: Path, errors: str = "strict", *, private: bool = False) -> Iterator[TextIO]:
    """A text file under a temporary name; it takes the place of `path` when the block ends without an exception.

    Args:
        path: of the file in the end.
        errors: what becomes of text that UTF-8 cannot hold, as for `open`.
        private: only the user may read it.
    """
    partial = path.with_name(path.name + ".tmp")
    try:
        with open(partial, "w", encoding="utf-8", errors=errors, opener=private_opener if private else None) as out:
            yield out
        partial.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(partial):
            error.filename = str(path)
        with suppress(OSError):
            partial.unlink()
        raise


def private_opener(path: str, flags: int) -> int:
    """For `open`: a file that is made can be read by the user alone, and a link is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def write_atomically(path: Path, text: str, errors: str = "strict", *, private: bool = False) -> None:
    """Write a text file, whole or not at all; `errors` as for `open`, `private` as for `atomic_writer`."""
    with atomic_writer(path, errors, private=private) as out:
        out.write(text)


def write_json(record: Record, path: Path, *, private: bool = False) -> None:
    """Write a record as indented JSON, whole or not at all; `private` as for `atomic_writer`."""
    write_atomically(path, record_as_json(record), "surrogatepass", private=private)


def record_as_json(record: Record) -> str:
    """A record as the indented JSON that `write_json` writes."""
    return json.dumps(dump(record), ensure_ascii=False, indent=1) + "\n"


def lock_file(path: Path, *, wait: float | None = 0, create: bool = True, flags: int = 0, mode: int = 0o644) -> int:
    """Open a file and lock it against every other process; the kernel frees the lock with the process.

    Args:
        path: of the file.
        wait: seconds to wait while another process holds it; None waits as long as it takes.
        create: make the file where there is none.
        flags: more flags for `os.open`.
        mode: of a file that is made.

    Returns:
        Its descriptor; closing it frees the lock.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened for writing.
    """
    deadline = None if wait is None else time.monotonic() + wait
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0) | flags, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if deadline is None else fcntl.LOCK_NB))
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError:
            if deadline is None or time.monotonic() >= deadline:
                os.close(descriptor)
                raise
            time.sleep(_POLL_SECONDS)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still is the one at the path: its last holder may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
