"""What a file is, found out before SQLite touches it: opened for writing, it would change a file that is not ours."""

from __future__ import annotations

import atexit
import os
import re
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from replay.errors import RunFileError
from replay.runfile.schema import APPLICATION_ID, FORMAT, STEPS, TABLES, VERSION, WORDS, migrate, own_statements
from replay.safety.filesystem import check_is_ours, lock_file, private_opener

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_SIZE: Final = 100
_STEPS_A_TURN: Final = 1_000_000
_MAX_TURNS: Final = 2_000
"""So many millions of steps of SQLite's machine are a minute or two; the longest statement of a report takes two and a
half for a hundred thousand calls."""
_APPLICATION_ID_AT: Final = 68
SAVE: Final = "save what can be saved with: replay recover"
RECOVER: Final = f"if it is a damaged one, {SAVE}"
"""What to do about a file that cannot be read."""


def check_is_run(path: Path) -> None:
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
            uri = f"{path.absolute().as_uri()}?{reading}"
            with closing(sqlite3.connect(uri, uri=True, factory=LimitedConnection)) as connection:
                empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
                if not empty:
                    found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
                    return bool(found == (FORMAT,))
        except sqlite3.Error:
            empty = False
    return empty


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
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> RunFileError:
    return RunFileError(str(path), f"cannot be written: {error.strerror}; name another with --run")


def check_is_private(path: Path) -> None:
    """See that nobody else laid or can change a run file that is going to be written, or what SQLite keeps beside it.

    Raises:
        RunFileError: somebody did, or can.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            check_is_ours(Path(f"{path}{suffix}").lstat())
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _not_written(Path(f"{path}{suffix}"), error) from None


def remove_run(path: Path) -> None:
    """Remove a run file, with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


class LimitedConnection(sqlite3.Connection):
    """A connection whose statements end: a stranger's file may be made so that one would go on for ever."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turns = 0
        self.set_progress_handler(self._is_too_long, _STEPS_A_TURN)

    def execute(self, *args: Any) -> sqlite3.Cursor:
        """As ever."""
        self._turns = 0
        return super().execute(*args)

    def _is_too_long(self) -> bool:
        self._turns += 1
        return self._turns > _MAX_TURNS


def check_run_schema(path: Path, connection: sqlite3.Connection) -> None:
    """See that reading and writing our tables does no more than that: no view, trigger or computed column of others.

    The triggers of an older version are looked at when it has been brought up to date.

    Raises:
        RunFileError: there is one.
        sqlite3.Error: the tables cannot be read.
    """
    objects = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    suspects = {
        name: kind for kind, name, text in objects if kind == "view" or _words_of(text).startswith("CREATE VIRTUAL")
    }
    for kind, name, _ in objects:
        if kind == "table" and name not in suspects:
            columns = connection.execute("SELECT hidden FROM pragma_table_xinfo(?)", (name,))
            if any(hidden > 1 for (hidden,) in columns):
                suspects[name] = kind
    if "meta" in {name for _, name, _ in objects} and "meta" not in suspects:
        version = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        if version == (str(VERSION),):
            suspects |= {name: kind for kind, name, _ in objects if kind == "trigger"}
    own = own_statements()
    for _, name, text in objects:
        if name in suspects and (name not in own or _words_of(text) != _words_of(own[name])):
            why = f"the {suspects[name]} {name!r} in it is not ours: it computes something when it is read or written"
            raise RunFileError(str(path), f"not read: {why}")


def _words_of(statement: str | None) -> str:
    """A statement without what SQLite's ALTER TABLE changes in it: quotation marks and white space."""
    return re.sub(r'["\s]+', " ", f" {statement} ").strip()


def open_connection(path: Path, *, readonly: bool) -> sqlite3.Connection:
    """Connect to a run file; in WAL mode where it is written. One that lies read-only is read as it is.

    Raises:
        RunFileError: it is not a run file, or cannot be opened.
    """
    check_is_run(path)
    if not readonly:
        check_is_private(path)
    try:
        mode = "rw" if readonly else "rwc"  # the last to close removes -wal and -shm, which a "ro" would leave there
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        if not readonly and not path.exists():
            # SQLite gives its other files the same mode
            os.close(private_opener(str(path), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, factory=LimitedConnection)
        if readonly:
            connection.execute("PRAGMA query_only = 1")
        else:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            check_is_private(path)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            if not readonly:
                raise
            uri = f"{uri}&immutable=1"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, factory=LimitedConnection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        check_run_schema(path, connection)
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
        check_run_schema(path, connection)
    except sqlite3.Error as error:
        raise RunFileError(str(path), f"version {version} cannot be brought up to date: {error}") from None


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isdigit() else 0


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
        with (
            closing(open_connection(path, readonly=True)) as old,
            closing(sqlite3.connect(target, factory=LimitedConnection)) as copy,
        ):
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
