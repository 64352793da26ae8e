"""What a file is, found out before SQLite touches it: opened for writing, it would change a file that is not ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from replay.errors import RunFileError
from replay.runfile.schema import APPLICATION_ID, FORMAT

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_SIZE: Final = 100
_APPLICATION_ID_AT: Final = 68
SAVE: Final = "save what can be saved with: replay recover"
RECOVER: Final = f"if it is a damaged one, {SAVE}"
"""What to do about a file that cannot be read."""


def check_is_ours(path: Path) -> None:
    """See that a file is a run file, or empty, or not there. It is read, and never changed.

    Raises:
        RunFileError: it is something else, or cannot be read.
    """
    try:
        if not path.exists():
            return
        if not path.is_file():
            raise RunFileError(str(path), "not a run file: it is not a regular file; name another with --run")
        with path.open("rb") as file:
            header = file.read(_HEADER_SIZE)
    except OSError as error:
        raise RunFileError(str(path), f"cannot be read: {error.strerror}; name another with --run") from None
    if not header:
        return
    if not header.startswith(_MAGIC):
        raise RunFileError(str(path), f"not a run file; name another with --run ({RECOVER} {path})")
    application = int.from_bytes(header[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4], "big")
    if application == APPLICATION_ID or (application == 0 and _has_our_tables(path)):
        return
    raise RunFileError(
        str(path), "not a run file: it is the SQLite file of another program, and is left as it is; name another"
    )


def _has_our_tables(path: Path) -> bool:
    """Whether a file without an application id is a run file of an older version, or has no table at all.

    The write-ahead log of a run that was killed may hold what the file itself does not yet.
    """
    readings = ["immutable=1"] + (["mode=ro"] if Path(f"{path}-wal").exists() else [])
    empty = False
    for reading in readings:
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{reading}", uri=True)) as connection:
                empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
                if not empty:
                    found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
                    return bool(found == (FORMAT,))
        except sqlite3.Error:
            empty = False
    return empty
