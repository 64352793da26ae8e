"""One trajectory with its verdicts; the one after it; and trajectories by their names."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass

from replay.records import Trajectory, Verdict
from replay.runfile.rows import rows_as_dicts, unpack, unpacked_text, verdict_of_row

MAX_LOOKED_THROUGH = 20_000
"""Trajectories that are looked through for those that one of them started."""
_HAS_PARENT = re.compile(rb'"parent": ?\{')


@dataclass(frozen=True)
class StoredCall:
    """A call's verdict and its stored answer, as a trajectory's screen shows them."""

    id: int
    ordinal: int
    position: str
    server: str
    tool: str
    verdict: Verdict
    answer_key: str | None


@dataclass(frozen=True)
class StoredTrajectory:
    """A trajectory with the verdicts that there are."""

    row: int
    file: int
    model: str
    path: str
    format: str
    done: bool
    record: Trajectory
    calls: tuple[StoredCall, ...]


@dataclass(frozen=True)
class StartedTrajectory:
    """A sub-agent's trajectory, and the call that started it."""

    row: int
    name: str
    call: str | None
    """The call's position; None where the file does not say which it was."""


@dataclass(frozen=True)
class TaskName:
    """A trajectory that a name was found for."""

    row: int
    name: str
    model: str
    task_type: str


def next_trajectory(connection: sqlite3.Connection, row: int, *, back: bool = False) -> int | None:
    """The trajectory after (or before) one, in the order of the run."""
    query = "SELECT max(id) FROM trajectories WHERE id < ?" if back else "SELECT min(id) FROM trajectories WHERE id > ?"
    found = connection.execute(query, (row,)).fetchone()[0]
    return None if found is None else int(found)


def trajectory_record(connection: sqlite3.Connection, row: int) -> Trajectory:
    """A trajectory of the run as it was replayed, with its data edges."""
    (record,) = connection.execute("SELECT record FROM trajectories WHERE id = ?", (row,)).fetchone()
    return Trajectory.model_validate(unpack(record))


def stored_trajectory(connection: sqlite3.Connection, row: int) -> StoredTrajectory | None:
    """A trajectory with its record and verdicts; None where it is no more."""
    found = connection.execute(
        "SELECT t.file, f.model, f.path, f.format, t.done, t.record FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.id = ?",
        (row,),
    ).fetchone()
    if found is None:
        return None
    file, model, path, format_, done, record = found
    cursor = connection.execute("SELECT * FROM calls WHERE trajectory = ? ORDER BY ordinal", (row,))
    calls = tuple(map(_stored_call, rows_as_dicts(cursor)))
    trajectory = Trajectory.model_validate(unpack(record))
    return StoredTrajectory(row, file, model, path, format_, bool(done), trajectory, calls)


def _stored_call(columns: dict[str, object]) -> StoredCall:
    return StoredCall(
        id=int(str(columns["id"])),
        ordinal=int(str(columns["ordinal"])),
        position=str(columns["position"]),
        server=str(columns["server"] or ""),
        tool=str(columns["tool"] or ""),
        verdict=verdict_of_row(columns),
        answer_key=None if columns["answer_key"] is None else str(columns["answer_key"]),
    )


def find_tasks(connection: sqlite3.Connection, text: str, limit: int = 20) -> list[TaskName]:
    """Trajectories whose id holds a text."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = connection.execute(
        "SELECT t.id, t.name, f.model, ifnull(t.task_type, '') FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.id IN (SELECT id FROM trajectories WHERE name LIKE ? ESCAPE '\\' LIMIT ?)",
        (pattern, limit),
    )
    return [TaskName(*row) for row in rows]


def row_beside(connection: sqlite3.Connection, stored: StoredTrajectory, name: str) -> int | None:
    """The trajectory of that id in the same results file, of whatever model; else in one of the same format."""
    found = connection.execute(
        "SELECT t.id FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.name = ? AND (f.path = ? OR f.format = ?) ORDER BY f.path != ?, t.id",
        (name, stored.path, stored.format, stored.path),
    ).fetchone()
    return None if found is None else int(found[0])


def sub_agents(connection: sqlite3.Connection, stored: StoredTrajectory) -> list[StartedTrajectory]:
    """The trajectories that the calls of a trajectory started, in the order of the run.

    The link stands in the records of those that were started; they are in the same file, or in others of its format.
    """
    rows = connection.execute(
        "SELECT t.id, t.name, f.path, t.record FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE f.format = ? AND t.id != ? ORDER BY t.id LIMIT ?",
        (stored.format, stored.row, MAX_LOOKED_THROUGH),
    )
    found = []
    for row, name, path, blob in rows:
        text = unpacked_text(blob)
        if _HAS_PARENT.search(text):
            parent = Trajectory.model_validate(json.loads(text)).parent
            if parent is not None and parent.trajectory == stored.record.id:
                found.append((path, StartedTrajectory(row, name, parent.call)))
    beside = [started for path, started in found if path == stored.path]
    return beside or [started for _, started in found]


def trajectory_row(connection: sqlite3.Connection, file: int, name: str) -> int | None:
    """The trajectory of that id in a file."""
    found = connection.execute("SELECT id FROM trajectories WHERE file = ? AND name = ?", (file, name)).fetchone()
    return None if found is None else int(found[0])


def ids_of_several_models(connection: sqlite3.Connection) -> frozenset[str]:
    """The ids that trajectories of more than one model have."""
    rows = connection.execute(
        "SELECT t.name FROM trajectories t JOIN files f ON f.id = t.file "
        "GROUP BY t.name HAVING count(DISTINCT f.model) > 1"
    )
    return frozenset(name for (name,) in rows)
