"""Reading a run file of an older version: a copy of it is brought up to date, and the file stays as it is."""

from __future__ import annotations

import atexit
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from replay.errors import RunFileError
from replay.runfile.connection import open_connection, version_of
from replay.runfile.migrations import migrate
from replay.runfile.schema import VERSION


def readable_path(path: Path) -> Path:
    """Where a run file can be read with today's tables: the file itself, or a private copy that ends with the process.

    Raises:
        RunFileError: it is not a run file, it is newer than we are, or it cannot be copied.
    """
    with closing(open_connection(path, readonly=True)) as connection:
        if version_of(path, connection) == VERSION:
            return path
    return _migrated_copy(path, tuple(_stamp(Path(f"{path}{suffix}")) for suffix in ("", "-wal")))


@cache
def _migrated_copy(path: Path, stamps: tuple[object, ...]) -> Path:
    """One copy for each state that the file is found in: the browser opens a run once a thread."""
    directory = TemporaryDirectory(prefix="replay-old-run-")
    atexit.register(directory.cleanup)
    target = Path(directory.name) / path.name
    try:
        with closing(open_connection(path, readonly=True)) as old, closing(sqlite3.connect(target)) as copy:
            old.backup(copy)
            migrate(copy, version_of(path, copy))
    except (sqlite3.Error, OSError) as error:
        raise RunFileError(
            str(path), f"a run of an older version, which cannot be copied to be read: {error}"
        ) from None
    return target


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is written or replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
