"""Calls with their verdicts one at a time, and those that a filter matches: in which order, and the next failure."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from replay.records import Outcome
from replay.records.files import CallRow, TrajectoryRow
from replay.runfile.filters import Filter, call_condition, group_condition
from replay.runfile.rows import call_row_of, in_files, is_failure, placeholders, rows_as_dicts
from replay.runfile.run import Run


def trajectory_rows(run: Run, files: Sequence[int] | None = None) -> Iterator[TrajectoryRow]:
    """The trajectories of these files (by the run's numbers, by default all), in the order in which they were read."""
    rows = run.connection.execute(
        f"""
        SELECT f.path AS file, f.model, t.name AS trajectory, t.task_type, t.question, t.calls, t.steps
        FROM trajectories t JOIN files f ON f.id = t.file WHERE {in_files("f.id", files)} ORDER BY t.file, t.id
        """  # noqa: S608
    )
    return (TrajectoryRow(**columns) for columns in rows_as_dicts(rows))


def call_rows(run: Run, *, files: Sequence[int] | None = None, trajectory: int | None = None) -> Iterator[CallRow]:
    """Calls with their verdicts, trajectory by trajectory, in the order of the steps.

    Args:
        run: open for reading or writing.
        files: only of these, by the run's numbers; by default of all.
        trajectory: only of this one, by its row.
    """
    of_trajectory = "1" if trajectory is None else f"c.trajectory = {int(trajectory)}"
    query = f"""
        SELECT c.*, f.path AS file_path, f.model AS model, t.name AS trajectory_name
        FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file
        WHERE {in_files("f.id", files)} AND {of_trajectory} ORDER BY c.file, c.trajectory, c.ordinal
    """  # noqa: S608
    return map(call_row_of, rows_as_dicts(run.connection.execute(query)))


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
GroupedCall: TypeAlias = tuple[int, int]
"""A call in a list: its row, and its group."""
_FIRST_CHUNK: Final = 256
_CHUNK: Final = 16384


@dataclass(frozen=True)
class CallLine:
    """One call as a line of a table."""

    id: int
    trajectory: int
    ordinal: int
    position: str
    outcome: Outcome
    server: str
    tool: str
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


def failing_groups(connection: sqlite3.Connection) -> frozenset[int]:
    """The groups of calls that are failures."""
    rows = connection.execute(f"SELECT id FROM call_groups WHERE n > 0 AND {is_failure('outcome')}")  # noqa: S608
    return frozenset(group for (group,) in rows)


def matching_calls(
    connection: sqlite3.Connection, wanted: Filter, order: Order = "run", *, descending: bool = False
) -> Iterator[list[GroupedCall]]:
    """The calls that a filter matches, in lists: a short one at once, then long ones.

    Args:
        connection: of the thread that asks; `interrupt()` from another thread ends the walk.
        wanted: the filter.
        order: what they are sorted by; within it, by group and then as in the run.
        descending: the other way round.
    """
    if order == "run" or (order == "model" and not descending):
        yield from _in_run_order(connection, wanted, descending=descending)
    elif order in _SORT and wanted.needs_each_call:
        query, parameters = _groups_in_order(wanted, order, descending=descending)
        ranks = {group: rank for rank, (group,) in enumerate(connection.execute(query, parameters))}
        found = [call for chunk in _in_run_order(connection, wanted) for call in chunk]
        yield sorted(found, key=lambda call: ranks.get(call[1], 0))
    elif order in _SORT:
        query, parameters = _groups_in_order(wanted, order, descending=descending)
        # The limit keeps the inner order: without one SQLite leaves an inner ORDER BY out.
        yield from _chunks(
            connection.execute(
                f"SELECT m.call, m.call_group FROM ({query} LIMIT -1) g "  # noqa: S608
                "CROSS JOIN call_group_index m INDEXED BY calls_by_group ON m.call_group = g.id",
                parameters,
            )
        )
    else:
        yield from _by_trajectory(connection, wanted, order, descending=descending)


def _by_trajectory(
    connection: sqlite3.Connection, wanted: Filter, order: Order, *, descending: bool
) -> Iterator[list[GroupedCall]]:
    groups, parameters = group_condition(wanted)
    each, more = call_condition(wanted)
    column = "task_type" if order == "task" else "file"
    inside = "1" if groups == "1" else f"+m.call_group IN (SELECT id FROM call_groups WHERE n > 0 AND {groups})"  # noqa: S608
    direction = "DESC" if descending else "ASC"
    yield from _chunks(
        connection.execute(
            f"SELECT m.call, m.call_group "  # noqa: S608
            f"FROM (SELECT id FROM trajectories ORDER BY {column} {direction}, id LIMIT -1) t "
            f"CROSS JOIN call_group_index m ON m.trajectory = t.id WHERE {inside} AND {each}",
            (*parameters, *more),
        )
    )


def _groups_in_order(wanted: Filter, order: Order, *, descending: bool) -> tuple[str, tuple[object, ...]]:
    where, parameters = group_condition(wanted)
    direction = " DESC" if descending else ""
    keys = ", ".join(f"{key}{direction}" for key in _SORT[order])
    return f"SELECT id FROM call_groups WHERE n > 0 AND {where} ORDER BY {keys}, file, server, tool, id", parameters  # noqa: S608


def _in_run_order(
    connection: sqlite3.Connection, wanted: Filter, *, descending: bool = False
) -> Iterator[list[GroupedCall]]:
    groups, parameters = group_condition(wanted)
    each, more = call_condition(wanted)
    direction = "DESC" if descending else "ASC"
    # Few of many: by the index of groups, and sorted. Else as the table lies; the plus keeps that index out of it.
    column = "m.call_group" if _is_rare(connection, groups, parameters) else "+m.call_group"
    inside = "1" if groups == "1" else f"{column} IN (SELECT id FROM call_groups WHERE n > 0 AND {groups})"  # noqa: S608
    yield from _chunks(
        connection.execute(
            f"SELECT m.call, m.call_group FROM call_group_index m WHERE {inside} AND {each} "  # noqa: S608
            f"ORDER BY m.trajectory {direction}, m.ordinal {direction}",
            (*parameters, *more),
        )
    )


def _is_rare(connection: sqlite3.Connection, groups: str, parameters: tuple[object, ...]) -> bool:
    query = f"SELECT ifnull(sum(CASE WHEN {groups} THEN n END), 0), ifnull(sum(n), 0) FROM call_groups"  # noqa: S608
    matching, total = connection.execute(query, parameters).fetchone()
    return bool(matching * 20 < total)


def _chunks(cursor: sqlite3.Cursor) -> Iterator[list[GroupedCall]]:
    size = _FIRST_CHUNK
    while found := cursor.fetchmany(size):
        yield found
        size = _CHUNK


_LINE: Final = """
SELECT c.id, c.trajectory, c.ordinal, c.position, c.outcome, ifnull(c.server, ''), ifnull(c.tool, ''),
  ifnull(c.reason, ''), c.rule, c.certainty, ifnull(c.drift, ''), ifnull(c.caused_by, ''), substr(c.message, 1, 500),
  ifnull(c.arguments, ''), ifnull(c.task_type, ''), t.name, f.model
FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file
"""


def matching_positions(connection: sqlite3.Connection, wanted: Filter) -> dict[int, frozenset[str]]:
    """The positions of the calls that a filter matches, by the rows of their trajectories."""
    found: dict[int, set[str]] = {}
    for chunk in matching_calls(connection, wanted):
        for start in range(0, len(chunk), _FIRST_CHUNK):
            ids = tuple(call for call, _ in chunk[start : start + _FIRST_CHUNK])
            query = f"SELECT trajectory, position FROM calls WHERE id IN ({placeholders(ids)})"  # noqa: S608
            for trajectory, position in connection.execute(query, ids):
                found.setdefault(trajectory, set()).add(position)
    return {trajectory: frozenset(positions) for trajectory, positions in found.items()}


def lines(connection: sqlite3.Connection, calls: Sequence[int]) -> dict[int, CallLine]:
    """The rows of these calls, by id; one that is no more is not in it."""
    query = f"{_LINE} WHERE c.id IN ({placeholders(calls)})"
    return {
        row: CallLine(row, trajectory, ordinal, position, Outcome(outcome), *rest)
        for row, trajectory, ordinal, position, outcome, *rest in connection.execute(query, tuple(calls))
    }


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
    groups, parameters = group_condition(wanted)
    each, more = call_condition(wanted)
    sign, direction = ("<", "DESC") if back else (">", "ASC")
    found = connection.execute(
        f"""
        SELECT m.trajectory, m.ordinal FROM call_group_index m
        WHERE (m.trajectory, m.ordinal) {sign} (?, ?) AND {each}
          AND +m.call_group IN (SELECT id FROM call_groups WHERE n > 0 AND {groups} AND {is_failure("outcome")})
        ORDER BY m.trajectory {direction}, m.ordinal {direction} LIMIT 1
        """,  # noqa: S608
        (*place, *more, *parameters),
    ).fetchone()
    return None if found is None else (int(found[0]), int(found[1]))
