"""How a run file is opened: the writer's lock, the connection, the version, the migrations."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

from replay.errors import RunFileError
from replay.runfile.file_header import RECOVER, check_is_ours
from replay.runfile.migrations import STEPS, migrate
from replay.runfile.schema import APPLICATION_ID, FORMAT, TABLES, VERSION, WORDS
from replay.safety.filesystem import lock_file, private_opener


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


def open_connection(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """Connect to a run file; in WAL mode where it is written. One that lies read-only is read as it is.

    Raises:
        RunFileError: it is not a run file, or cannot be opened.
    """
    check_is_ours(path)
    try:
        mode = "rw" if readonly else "rwc"  # the last to close removes -wal and -shm, which a "ro" would leave there
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        if not readonly and not path.exists():
            os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT))  # SQLite gives its other files the same mode
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
        if readonly:
            connection.execute("PRAGMA query_only = 1")
        else:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
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
        raise RunFileError(
            str(path), f"cannot be opened as a run file: {error}; name another ({RECOVER} {path})"
        ) from None
    return connection


def version_of(path: Path, connection: sqlite3.Connection) -> int:
    """The version of a run file.

    Raises:
        RunFileError: it is not a run file, or one of a version that we do not read.
    """
    try:
        meta: dict[str, Any] = dict(connection.execute("SELECT key, value FROM meta"))
    except sqlite3.Error:
        raise RunFileError(str(path), f"not a run file (its table meta cannot be read); {RECOVER} {path}") from None
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
            f"BEGIN;{TABLES};INSERT INTO meta VALUES ('format', '{FORMAT}'), ('version', '{VERSION}');COMMIT;"  # noqa: S608
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
