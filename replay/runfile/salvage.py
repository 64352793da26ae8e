"""Whether a row of a run file holds what it must: what a damaged file gives may be anything."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic import TypeAdapter

from replay.errors import RunFileError
from replay.records import Answer, FleetFacts, Server, Trajectory
from replay.records.alignment import AlignedModel, AlignedTask
from replay.runfile.connection import (
    SAVE,
    LimitedConnection,
    check_is_run,
    check_run_schema,
    open_connection,
    prepare_tables,
    remove_run,
    version_of,
)
from replay.runfile.effects_journal import journalled
from replay.runfile.rows import insertion, rows_as_dicts, unpack, verdict_of_row
from replay.runfile.run_inputs import JUDGED
from replay.runfile.schema import APPLICATION_ID, FORMAT, VERSION, migrate, own_statements
from replay.runfile.task_runs import rebuild_task_runs, rebuild_task_scores

UNREADABLE: Final = (
    sqlite3.DatabaseError,
    zlib.error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)
"""What reading damaged rows raises."""
_ANSWER: Final[TypeAdapter[Answer]] = TypeAdapter(Answer)

Row = dict[str, Any]


def _need(row: Row, kind: type, *names: str) -> None:
    for name in names:
        if not isinstance(row[name], kind):
            raise TypeError(name)


def _meta(row: Row) -> None:
    _need(row, str, "key", "value")
    if row["key"] == "fleet":
        FleetFacts.model_validate_json(row["value"])
    elif row["key"] in {"trials", "version"}:
        int(row["value"])


def _server(row: Row) -> None:
    _need(row, str, "name", "record")
    Server.model_validate_json(row["record"])


def _file(row: Row) -> None:
    _need(row, str, "path", "model", "format")
    if "\0" in row["path"] + row["model"]:
        raise ValueError("path")


def _trajectory(row: Row) -> None:
    _need(row, int, "file", "steps", "calls", "done")
    _need(row, str, "name", "digest", "policy")
    record = Trajectory.model_validate(unpack(row["record"]))
    if row["calls"] != sum(len(step.calls) for step in record.steps) or row["name"] != record.id:
        raise ValueError("record")


def _call(row: Row) -> None:
    _need(row, int, "trajectory", "ordinal", "file")
    _need(row, str, "position", "outcome", "message", "rule", "details")
    for name in ("server", "tool", "task_type", "arguments", "answer_key"):
        if row[name] is not None:
            _need(row, str, name)
    verdict_of_row(row)


def _journal(row: Row) -> None:
    _need(row, str, "path", "trajectory", "question", "server", "tool", "arguments")
    journalled(row["answer"])


def _answer(row: Row) -> None:
    _need(row, str, "key", "server", "server_digest", "tool")
    _ANSWER.validate_python(unpack(row["answer"]))


CHECKS: Final[Mapping[str, Callable[[Row], object]]] = {
    "meta": _meta,
    "servers": _server,
    "files": _file,
    "trajectories": _trajectory,
    "calls": _call,
    "journal": _journal,
    "answers": _answer,
    "alignments": lambda row: AlignedModel.model_validate(unpack(row["record"])),
    "aligned_tasks": lambda row: AlignedTask.model_validate(unpack(row["record"])),
    "reference_tasks": lambda row: unpack(row["record"]),
}
"""By table: raises one of `UNREADABLE` where a row is not as it must be."""


_MAX_FAILED_READS: Final = 5_000
"""Of one table: each halves the range of rows that the damage is looked for in."""
_MAX_ROWID: Final = 2**31
_PAGE_SIZE: Final = 4096
_KEEPS: Final = tuple(CHECKS)
"""The tables whose rows are copied, in the order in which they are; the others are kept by triggers."""


@dataclass
class Salvage:
    """What was saved."""

    path: Path
    saved: Counter[str] = field(default_factory=Counter)
    """Rows, by table."""
    lost: Counter[str] = field(default_factory=Counter)
    """Rows that were met and could not be read, by table; calls that a trajectory names and that were not found."""
    damaged: set[str] = field(default_factory=set)
    """Tables of which an unknown number of rows could not be found."""


def damage_of(path: Path) -> str | None:
    """What is wrong with a run file, in words; None where all of it can be read."""
    try:
        with closing(open_connection(path, readonly=True)) as db:
            (found,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                return str(found).splitlines()[-1]
            for table in _KEEPS if version_of(path, db) == VERSION else ():
                for row in rows_as_dicts(db.execute(f"SELECT * FROM {table}")):  # noqa: S608
                    CHECKS[table](row)
    except RunFileError as error:
        return error.message
    except UNREADABLE as error:
        return f"a record cannot be read ({type(error).__name__})"
    return None


def damage_behind(error: BaseException, path: Path) -> RunFileError | None:
    """What to raise for an error that a damaged run file is behind; None where the file is sound."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := damage_behind(inner, path))), None)
    if not isinstance(error, UNREADABLE):
        return None
    if str(error) == "interrupted":
        return RunFileError(str(path), "reading it takes too long: it is damaged, or made to be so")
    damage = damage_of(path)
    return None if damage is None else RunFileError(str(path), f"damaged ({damage}); {SAVE} {path}")


def salvage_run(path: Path, target: Path) -> Salvage:
    """Copy what can be read of a run file into a new one; the damaged file stays as it is.

    Raises:
        RunFileError: it is not a run file, nothing of it can be read, or the new one cannot be written.
    """
    if target.exists():
        raise RunFileError(str(target), "is there already; name another with -o")
    with TemporaryDirectory(prefix="replay-recover-") as directory:
        copy = Path(directory) / "damaged.db"
        try:
            shutil.copyfile(path, copy)
            if Path(f"{path}-wal").exists():
                shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        except OSError as error:
            raise RunFileError(str(path), f"cannot be copied to be read: {error.strerror}") from None
        found = Salvage(target)
        try:
            with closing(_readable(path, copy)) as old, closing(open_connection(target, readonly=False)) as new:
                prepare_tables(target, new)
                new.execute("BEGIN")
                for table in _KEEPS:
                    _copy_table(old, new, table, found)
                _mend(new, found)
                new.execute("COMMIT")
        except (*UNREADABLE, OSError) as error:
            remove_run(target)
            raise RunFileError(str(path), f"nothing of it can be saved: {error}") from None
        except BaseException:
            remove_run(target)
            raise
    if not found.saved["trajectories"]:
        remove_run(target)
        raise RunFileError(str(path), "nothing of it can be saved: no trajectory can be read")
    return found


def _readable(path: Path, copy: Path) -> sqlite3.Connection:
    """Open a private copy; where its beginning is lost, under the first page of a new run file."""
    connection = _opened(path, copy)
    if connection is None:
        with copy.open("rb") as file:
            if _is_foreign(file.read(100)):
                check_is_run(path)
        _graft_first_page(copy)
        connection = _opened(path, copy)
    if connection is None:
        raise RunFileError(str(path), "nothing of it can be saved: it is not a run file, or its tables are lost")
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _opened(path: Path, copy: Path) -> sqlite3.Connection | None:
    connection = sqlite3.connect(copy, isolation_level=None, factory=LimitedConnection)
    try:
        check_run_schema(path, connection)
        for table in _KEEPS:
            connection.execute(f"SELECT 1 FROM sqlite_master WHERE name = '{table}'").fetchone()  # noqa: S608
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        version = int(meta.get("version", VERSION))
        if meta.get("format", FORMAT) == FORMAT and version <= VERSION:
            migrate(connection, version)
            return connection
    except sqlite3.DatabaseError:
        with suppress(sqlite3.DatabaseError):  # the tables may be there although meta is damaged
            connection.execute("SELECT path, answer FROM journal LIMIT 0")
            connection.execute("SELECT absolute_path FROM files LIMIT 0")
            return connection
    except UNREADABLE:
        pass
    connection.close()
    return None


def _is_foreign(header: bytes) -> bool:
    """Whether the header is whole and another program's, so that ours must not be put in its place."""
    application = int.from_bytes(header[68:72], "big")
    return header.startswith(b"SQLite format 3\0") and application not in {0, APPLICATION_ID}


def _graft_first_page(copy: Path) -> None:
    """Put the first page of an empty run file, with the table of tables, in the place of one that is lost.

    The tables of a new file always begin on the same pages.
    """
    with TemporaryDirectory(prefix="replay-recover-") as directory:
        empty = Path(directory) / "empty.db"
        with closing(open_connection(empty, readonly=False)) as connection:
            prepare_tables(empty, connection)
        page = bytearray(empty.read_bytes()[:_PAGE_SIZE])
    page[18:20] = b"\1\1"  # not in WAL mode: the log was written for the page that is lost
    page[24:28] = bytes(3) + b"\1"  # so that the number of pages is taken from the file's size
    page[92:96] = bytes(4)
    page[32:40] = bytes(8)  # the list of free pages is not known
    Path(f"{copy}-wal").unlink(missing_ok=True)
    with copy.open("r+b") as file:
        file.write(page)


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str, found: Salvage) -> None:
    for row in _rows(old, table, found):
        try:
            CHECKS[table](row)
        except UNREADABLE:
            if table != "journal":
                found.lost[table] += 1
                continue
            row["answer"] = None
        if table == "meta" and (row["key"] in {"format", "version"} or row["key"].startswith(JUDGED)):
            continue
        try:
            new.execute(insertion(table, row), tuple(row.values()))
            found.saved[table] += 1
        except sqlite3.Error:
            found.lost[table] += 1


def _mend(db: sqlite3.Connection, found: Salvage) -> None:
    """Make what was saved hang together again."""
    lost = db.execute("DELETE FROM trajectories WHERE file NOT IN (SELECT id FROM files)").rowcount
    found.lost["trajectories"] += lost
    found.saved["trajectories"] -= lost
    lost = db.execute("DELETE FROM calls WHERE trajectory NOT IN (SELECT id FROM trajectories)").rowcount
    found.lost["calls"] += lost
    found.saved["calls"] -= lost
    missing = "calls > (SELECT count(*) FROM calls c WHERE c.trajectory = trajectories.id) AND done"
    (calls,) = db.execute(
        f"SELECT total(calls - (SELECT count(*) FROM calls c WHERE c.trajectory = trajectories.id)) "  # noqa: S608
        f"FROM trajectories WHERE {missing}"
    ).fetchone()
    found.lost["calls"] += max(0, int(calls) - found.lost["calls"])
    db.execute(f"UPDATE trajectories SET done = 0 WHERE {missing}")  # noqa: S608
    rebuild_task_runs(db)
    rebuild_task_scores(db)


def _rows(db: sqlite3.Connection, table: str, found: Salvage) -> Iterator[dict[str, Any]]:
    if "WITHOUT ROWID" not in own_statements()[table]:
        yield from _rows_by_id(db, table, found)
        return
    seen: set[str] = set()
    for order in ("ASC", "DESC"):
        try:
            for row in rows_as_dicts(db.execute(f"SELECT * FROM {table} ORDER BY 1 {order}")):  # noqa: S608
                if (text := repr(row)) not in seen:
                    seen.add(text)
                    yield row
        except sqlite3.Error:
            found.damaged.add(table)
        else:
            return


def _rows_by_id(db: sqlite3.Connection, table: str, found: Salvage) -> Iterator[dict[str, Any]]:
    """All rows that can be read: a range that cannot be read as a whole is halved."""
    ranges, failed = [(0, _MAX_ROWID)], 0
    while ranges and failed < _MAX_FAILED_READS:
        first, last = ranges.pop()
        try:
            query = f"SELECT * FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ?"  # noqa: S608
            rows = list(rows_as_dicts(db.execute(query, (first, last))))
        except sqlite3.Error:
            failed += 1
            found.damaged.add(table)
            if first < last:
                middle = (first + last) // 2
                ranges += [(middle + 1, last), (first, middle)]
            continue
        yield from rows
