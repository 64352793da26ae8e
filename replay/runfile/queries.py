"""What a browser asks of a run: counts at once, calls in windows, the next failure.

Counts come from the tables `tallies` and `kinds`. The list of calls is walked over `marks`, which holds the
kind of each call and is a hundredth of the size of `calls`; the wide rows are read for what is on the screen, only.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from replay.records import FAILURES, Answer, Outcome, Trajectory, Verdict
from replay.runfile.filters import Filter
from replay.runfile.json_blob import unpack
from replay.runfile.rows import verdict_of_row
from replay.runfile.run import Run

Order: TypeAlias = Literal["run", "outcome", "tool", "model", "task", "rule", "certainty", "drift"]
ORDERS: Final[tuple[Order, ...]] = ("run", "outcome", "tool", "model", "task", "rule", "certainty", "drift")
"""How a list of calls can be sorted; `run` is file by file, in the order of the trajectories and their steps."""

_OUTCOME_RANK: Final = "CASE outcome " + " ".join(f"WHEN '{o}' THEN {i}" for i, o in enumerate(Outcome)) + " ELSE 9 END"
_SORT: Final[dict[Order, tuple[str, ...]]] = {
    "outcome": (_OUTCOME_RANK,),
    "tool": ("server", "tool"),
    "rule": ("rule",),
    "certainty": ("CASE certainty WHEN 'fallback' THEN 0 WHEN 'likely' THEN 1 ELSE 2 END",),
    "drift": ("CASE drift WHEN 'different' THEN 0 WHEN 'volatile' THEN 1 WHEN 'same' THEN 2 ELSE 3 END",),
}
Breakdown: TypeAlias = Literal["server", "tool", "task_type", "rule", "reason"]
Mark: TypeAlias = tuple[int, int]
"""A call in a list: its row, and its kind."""
_FIRST_CHUNK: Final = 256
_CHUNK: Final = 16384


@dataclass(frozen=True)
class ModelCount:
    """One model, with all of its results files."""

    model: str
    files: tuple[int, ...]
    trajectories: int
    outcomes: dict[Outcome, int]


@dataclass(frozen=True)
class Group:
    """The calls that share a server, a tool, a task type, a rule or a reason."""

    names: tuple[str, ...]
    outcomes: dict[Outcome, int]


@dataclass(frozen=True)
class RootGroup:
    """Failures of one tool, under one rule, that made others fail."""

    server: str
    tool: str
    outcome: Outcome
    rule: str
    roots: int
    followed: int


@dataclass(frozen=True)
class CallLine:
    """One call as a line of a table."""

    id: int
    trajectory: int
    ordinal: int
    position: str
    server: str
    tool: str
    outcome: Outcome
    reason: str
    rule: str
    certainty: str
    drift: str
    caused_by: str
    message: str
    arguments: str
    task_type: str
    task: str
    model: str


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


def data_version(connection: sqlite3.Connection) -> int:
    """A number that moves when another process wrote to the run."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def model_counts(connection: sqlite3.Connection) -> list[ModelCount]:
    """The models, with how many calls of each outcome."""
    counts: dict[int, dict[Outcome, int]] = {}
    for file, outcome, number in connection.execute(
        "SELECT file, outcome, sum(n) FROM tallies WHERE n > 0 GROUP BY file, outcome"
    ):
        counts.setdefault(file, {})[Outcome(outcome)] = number
    files = connection.execute(
        "SELECT id, model, (SELECT count(*) FROM trajectories t WHERE t.file = f.id) FROM files f ORDER BY id"
    ).fetchall()
    return [
        ModelCount(model, ids, sum(counted), dict(sum((Counter(counts.get(file, {})) for file in ids), Counter())))
        for model in dict.fromkeys(model for _, model, _ in files)
        if (ids := tuple(file for file, name, _ in files if name == model))
        if (counted := [number for _, name, number in files if name == model])
    ]


def breakdown(connection: sqlite3.Connection, by: Breakdown, files: Sequence[int] = ()) -> list[Group]:
    """Counts by server, tool, task type, rule or reason; what has most failures first.

    Args:
        connection: to the run file.
        by: what to group by.
        files: only of these; all where empty.
    """
    columns = "server, tool" if by == "tool" else by
    table = "tallies" if by in {"task_type", "reason"} else "kinds"
    inside = f"file IN ({', '.join('?' * len(files))})" if files else "1"
    rows = connection.execute(
        f"SELECT {columns}, outcome, sum(n) FROM {table} WHERE n > 0 AND {inside} GROUP BY {columns}, outcome",  # noqa: S608
        tuple(files),
    )
    groups: dict[tuple[str, ...], dict[Outcome, int]] = {}
    for *names, outcome, number in rows:
        groups.setdefault(tuple(names), {})[Outcome(outcome)] = number
    found = [Group(names, outcomes) for names, outcomes in groups.items() if any(names) or by != "reason"]
    return sorted(found, key=lambda group: (-failed(group.outcomes), -sum(group.outcomes.values()), group.names))


def failed(outcomes: dict[Outcome, int]) -> int:
    """How many of the calls are failures of the model."""
    return sum(outcomes.get(Outcome(name), 0) for name in FAILURES)


def root_groups(connection: sqlite3.Connection, files: Sequence[int] = (), most: int = 50) -> list[RootGroup]:
    """The failures that made others fail, alike ones together; those that most followed from first."""
    inside = f"c.file IN ({', '.join('?' * len(files))}) AND" if files else ""
    rows = connection.execute(
        f"""
        WITH followers AS (
          SELECT c.trajectory, c.caused_by, count(*) AS n FROM calls c INDEXED BY calls_by_cause
          WHERE {inside} c.caused_by IS NOT NULL GROUP BY c.file, c.trajectory, c.caused_by
        )
        SELECT ifnull(r.server, ''), ifnull(r.tool, ''), r.outcome, r.rule, count(*), sum(f.n)
        FROM followers f JOIN calls r ON r.trajectory = f.trajectory AND r.position = f.caused_by
        GROUP BY 1, 2, 3, 4 ORDER BY 6 DESC, 1, 2 LIMIT ?
        """,  # noqa: S608
        (*files, most),
    )
    return [RootGroup(server, tool, Outcome(outcome), *rest) for server, tool, outcome, *rest in rows]


def failing_kinds(connection: sqlite3.Connection) -> frozenset[int]:
    """The kinds that are failures."""
    marks = ", ".join("?" * len(FAILURES))
    rows = connection.execute(f"SELECT id FROM kinds WHERE outcome IN ({marks})", FAILURES)  # noqa: S608
    return frozenset(kind for (kind,) in rows)


def count(connection: sqlite3.Connection, wanted: Filter) -> int | None:
    """How many calls a filter matches; None where only looking at each one tells."""
    if wanted.has_singles:
        return None
    where, parameters = wanted.kinds
    return int(connection.execute(f"SELECT ifnull(sum(n), 0) FROM kinds WHERE {where}", parameters).fetchone()[0])  # noqa: S608


def marks(
    connection: sqlite3.Connection, wanted: Filter, order: Order = "run", *, descending: bool = False
) -> Iterator[list[Mark]]:
    """The calls that a filter matches, in lists: a short one at once, then long ones.

    Args:
        connection: of the thread that asks; `interrupt()` from another thread ends the walk.
        wanted: the filter.
        order: what they are sorted by; within it, by kind and then as in the run.
        descending: the other way round.
    """
    if order == "run" or (order == "model" and not descending):
        yield from _in_run_order(connection, wanted, descending=descending)
    elif order in _SORT and wanted.has_singles:
        rank = {kind: place for place, kind in enumerate(_sorted_kinds(connection, wanted, order, descending))}
        found = [mark for chunk in _in_run_order(connection, wanted) for mark in chunk]
        yield sorted(found, key=lambda mark: rank.get(mark[1], 0))
    elif order in _SORT:
        query, parameters = _kinds_in_order(wanted, order, descending=descending)
        # The limit keeps the inner order: without one SQLite leaves an inner ORDER BY out.
        yield from _chunks(
            connection.execute(
                f"SELECT m.call, m.kind FROM ({query} LIMIT -1) k CROSS JOIN marks m INDEXED BY marks_by_kind "  # noqa: S608
                "ON m.kind = k.id",
                parameters,
            )
        )
    else:
        yield from _by_trajectory(connection, wanted, order, descending=descending)


def _by_trajectory(
    connection: sqlite3.Connection, wanted: Filter, order: Order, *, descending: bool
) -> Iterator[list[Mark]]:
    kinds, parameters = wanted.kinds
    singles, more = wanted.singles
    column = "task_type" if order == "task" else "file"
    inside = "1" if kinds == "1" else f"+m.kind IN (SELECT id FROM kinds WHERE n > 0 AND {kinds})"  # noqa: S608
    direction = "DESC" if descending else "ASC"
    yield from _chunks(
        connection.execute(
            f"SELECT m.call, m.kind FROM (SELECT id FROM trajectories ORDER BY {column} {direction}, id LIMIT -1) t "  # noqa: S608
            f"CROSS JOIN marks m ON m.trajectory = t.id WHERE {inside} AND {singles}",
            (*parameters, *more),
        )
    )


def _sorted_kinds(connection: sqlite3.Connection, wanted: Filter, order: Order, descending: bool) -> list[int]:
    query, parameters = _kinds_in_order(wanted, order, descending=descending)
    return [kind for (kind,) in connection.execute(query, parameters)]


def _kinds_in_order(wanted: Filter, order: Order, *, descending: bool) -> tuple[str, tuple[object, ...]]:
    where, parameters = wanted.kinds
    direction = " DESC" if descending else ""
    keys = ", ".join(f"{key}{direction}" for key in _SORT[order])
    return f"SELECT id FROM kinds WHERE n > 0 AND {where} ORDER BY {keys}, file, server, tool, id", parameters  # noqa: S608


def _in_run_order(connection: sqlite3.Connection, wanted: Filter, *, descending: bool = False) -> Iterator[list[Mark]]:
    kinds, parameters = wanted.kinds
    singles, more = wanted.singles
    direction = "DESC" if descending else "ASC"
    # Few of many: by the index of kinds, and sorted. Else as the table lies; the plus keeps that index out of it.
    column = "m.kind" if _is_rare(connection, kinds, parameters) else "+m.kind"
    inside = "1" if kinds == "1" else f"{column} IN (SELECT id FROM kinds WHERE n > 0 AND {kinds})"  # noqa: S608
    yield from _chunks(
        connection.execute(
            f"SELECT m.call, m.kind FROM marks m WHERE {inside} AND {singles} "  # noqa: S608
            f"ORDER BY m.trajectory {direction}, m.ordinal {direction}",
            (*parameters, *more),
        )
    )


def _is_rare(connection: sqlite3.Connection, kinds: str, parameters: tuple[object, ...]) -> bool:
    query = f"SELECT ifnull(sum(CASE WHEN {kinds} THEN n END), 0), ifnull(sum(n), 0) FROM kinds"  # noqa: S608
    matching, total = connection.execute(query, parameters).fetchone()
    return bool(matching * 20 < total)


def _chunks(cursor: sqlite3.Cursor) -> Iterator[list[Mark]]:
    size = _FIRST_CHUNK
    while found := cursor.fetchmany(size):
        yield found
        size = _CHUNK


_LINE: Final = """
SELECT c.id, c.trajectory, c.ordinal, c.position, ifnull(c.server, ''), ifnull(c.tool, ''), c.outcome,
  ifnull(c.reason, ''), c.rule, c.certainty, ifnull(c.drift, ''), ifnull(c.caused_by, ''), substr(c.message, 1, 500),
  ifnull(c.arguments, ''), ifnull(c.task_type, ''), t.name, f.model
FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file
"""


def lines(connection: sqlite3.Connection, calls: Sequence[int]) -> dict[int, CallLine]:
    """The rows of these calls, by id; one that is no more is not in it."""
    query = f"{_LINE} WHERE c.id IN ({', '.join('?' * len(calls))})"
    return {row[0]: _line(row) for row in connection.execute(query, tuple(calls))}


def _line(row: tuple[object, ...]) -> CallLine:
    fields = list(row)
    fields[6] = Outcome(str(fields[6]))
    return CallLine(*fields)  # type: ignore[arg-type]


def place_of(connection: sqlite3.Connection, call: int) -> tuple[int, int] | None:
    """Trajectory row and ordinal of a call."""
    found = connection.execute("SELECT trajectory, ordinal FROM calls WHERE id = ?", (call,)).fetchone()
    return None if found is None else (int(found[0]), int(found[1]))


def next_failure(
    connection: sqlite3.Connection, wanted: Filter, place: tuple[int, int], *, back: bool = False
) -> tuple[int, int] | None:
    """The nearest failure after (or before) a place that the filter matches, as trajectory row and ordinal.

    Args:
        connection: to the run file.
        wanted: only among these calls.
        place: trajectory row and ordinal to start from, itself left out.
        back: look before it.
    """
    kinds, parameters = wanted.kinds
    singles, more = wanted.singles
    sign, direction = ("<", "DESC") if back else (">", "ASC")
    found = connection.execute(
        f"""
        SELECT m.trajectory, m.ordinal FROM marks m
        WHERE (m.trajectory, m.ordinal) {sign} (?, ?) AND {singles}
          AND +m.kind IN (SELECT id FROM kinds WHERE n > 0 AND {kinds} AND outcome IN (?, ?, ?, ?))
        ORDER BY m.trajectory {direction}, m.ordinal {direction} LIMIT 1
        """,  # noqa: S608
        (*place, *more, *parameters, *FAILURES),
    ).fetchone()
    return None if found is None else (int(found[0]), int(found[1]))


def next_trajectory(connection: sqlite3.Connection, row: int, *, back: bool = False) -> int | None:
    """The trajectory after (or before) one, in the order of the run."""
    query = "SELECT max(id) FROM trajectories WHERE id < ?" if back else "SELECT min(id) FROM trajectories WHERE id > ?"
    found = connection.execute(query, (row,)).fetchone()[0]
    return None if found is None else int(found)


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
    names = [column[0] for column in cursor.description]
    calls = tuple(_stored_call(dict(zip(names, values, strict=True))) for values in cursor)
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


def stored_answer(run: Run, key: str | None) -> Answer | None:
    """The answer that came when the call was re-issued, or that an earlier run stored."""
    return None if key is None else run.stored_answer(key)


def find_tasks(connection: sqlite3.Connection, text: str, most: int = 20) -> list[TaskName]:
    """Trajectories whose id holds a text."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = connection.execute(
        "SELECT t.id, t.name, f.model, ifnull(t.task_type, '') FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.id IN (SELECT id FROM trajectories WHERE name LIKE ? ESCAPE '\\' LIMIT ?)",
        (pattern, most),
    )
    return [TaskName(*row) for row in rows]


def trajectory_row(connection: sqlite3.Connection, file: int, name: str) -> int | None:
    """The trajectory of that id in a file."""
    found = connection.execute("SELECT id FROM trajectories WHERE file = ? AND name = ?", (file, name)).fetchone()
    return None if found is None else int(found[0])
