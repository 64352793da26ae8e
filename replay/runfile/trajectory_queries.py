"""One trajectory with its verdicts; the one after it; and trajectories by their names."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from replay.records import Trajectory, Verdict
from replay.runfile.json_blob import unpack
from replay.runfile.rows import rows_as_dicts, verdict_of_row


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
    """The trajectory of that id in the same results file, of whatever model."""
    found = connection.execute(
        "SELECT t.id FROM trajectories t JOIN files f ON f.id = t.file WHERE f.path = ? AND t.name = ?",
        (stored.path, name),
    ).fetchone()
    return None if found is None else int(found[0])


def trajectory_row(connection: sqlite3.Connection, file: int, name: str) -> int | None:
    """The trajectory of that id in a file."""
    found = connection.execute("SELECT id FROM trajectories WHERE file = ? AND name = ?", (file, name)).fetchone()
    return None if found is None else int(found[0])
