"""How a run file is opened: the writer's lock, the connection, the version, the migrations."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from replay.errors import RunFileError
from replay.filesystem import lock_file, private_opener
from replay.runfile.migrations import STEPS, migrate
from replay.runfile.schema import APPLICATION_ID, FORMAT, TABLES, VERSION, WORDS


def take_lock(path: Path) -> int:
    """Take the writer's lock; the kernel frees it with the process, however that ends.

    Raises:
        RunFileError: the directory cannot be written, or another process holds the lock.
    """
    try:
        return lock_file(Path(f"{path}-lock"), mode=0o600)
    except BlockingIOError:
        raise RunFileError(
            str(path), "another replay is writing this run; wait for it, or name another with --run"
        ) from None
    except OSError as error:
        raise RunFileError(str(path), f"cannot be written: {error.strerror}; name another with --run") from None


def refuse_foreign(path: Path) -> None:
    """Make sure that a file may be overwritten: it is a run file, or empty, or not there.

    Raises:
        RunFileError: it is something else.
    """
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        connection.close()
    except sqlite3.Error:
        found = None
    if found != (FORMAT,):
        raise RunFileError(str(path), "not a run file, so it is not overwritten; name another with --run")


def open_connection(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """Connect to a run file; in WAL mode where it is written. One that lies read-only is read as it is."""
    try:
        mode = "rw" if readonly else "rwc"  # the last to close removes -wal and -shm, which a "ro" would leave there
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        if not readonly and not path.exists():
            os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT))  # SQLite gives its other files the same mode
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
        if readonly:
            connection.execute("PRAGMA query_only = 1")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            if not readonly:
                raise
            connection = sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except (sqlite3.Error, OSError) as error:
        raise RunFileError(str(path), f"cannot be opened as a run file: {error}; name another with --run") from None
    return connection


def version_of(path: Path, connection: sqlite3.Connection) -> int:
    """The version of a run file.

    Raises:
        RunFileError: it is not a run file, or one of a version that we do not read.
    """
    try:
        meta: dict[str, Any] = dict(connection.execute("SELECT key, value FROM meta"))
    except sqlite3.Error:
        raise RunFileError(str(path), "not a run file (it has no table meta); name another with --run") from None
    if meta.get("format") != FORMAT:
        raise RunFileError(str(path), f'not a run file: its format is {meta.get("format")!r}, expected "{FORMAT}"')
    version = _number(meta.get("version"))
    if version > VERSION:
        raise RunFileError(
            str(path), f"run file version {version} is newer than this replay reads ({VERSION}); update mcp-replay"
        )
    if version != VERSION and version not in STEPS:
        raise RunFileError(str(path), f"run file version {version} is not known")
    return version


def prepare_tables(path: Path, connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, or bring those of an older one up to date."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        connection.executescript(
            f"BEGIN;{TABLES};PRAGMA application_id = {APPLICATION_ID};"  # noqa: S608
            f"INSERT INTO meta VALUES ('format', '{FORMAT}'), ('version', '{VERSION}');COMMIT;"
        )
        with suppress(sqlite3.OperationalError):  # an SQLite without full-text search: words are looked for row by row
            connection.executescript(f"BEGIN;{WORDS};COMMIT;")
        return
    version = version_of(path, connection)
    try:
        migrate(connection, version)
    except sqlite3.Error as error:
        raise RunFileError(str(path), f"version {version} cannot be brought up to date: {error}") from None


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0
