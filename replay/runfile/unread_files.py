"""The results files that `classify` could not read, kept in the run: every table of the run tells of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from replay.records.summary import UnreadFile
from replay.runfile.effects_journal import absolute_path, is_there

_FILES = TypeAdapter(dict[str, UnreadFile])


def save_unread(db: sqlite3.Connection, files: Sequence[UnreadFile], read: Iterable[str]) -> None:
    """Keep what could not be read; what was read meanwhile, or is not there any more, is forgotten.

    Args:
        db: of the run.
        files: that could not be read, or not as a whole.
        read: paths of those that could.
    """
    known = {path: file for path, file in _by_path(db).items() if is_there(path)}
    for path in map(absolute_path, read):
        known.pop(path, None)
    known |= {absolute_path(file.path): file for file in files}
    if known:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('unread', ?)", (_FILES.dump_json(known).decode(),))
    else:
        db.execute("DELETE FROM meta WHERE key = 'unread'")


def unread_files(db: sqlite3.Connection) -> tuple[UnreadFile, ...]:
    """What could not be read of the files that the run was made of."""
    return tuple(_by_path(db).values())


def _by_path(db: sqlite3.Connection) -> dict[str, UnreadFile]:
    found = db.execute("SELECT value FROM meta WHERE key = 'unread'").fetchone()
    return {} if found is None else _FILES.validate_json(found[0])
