"""Two models, or two runs, on the same tasks, set side by side without reading all calls."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from replay.records import FAILURES, Outcome

OTHER: Final = "other"
"""The schema that a second run is attached as."""
_FAILED: Final = f"k.outcome IN ({', '.join(map(repr, map(str, FAILURES)))})"


@dataclass(frozen=True)
class Side:
    """One model of one run, with all of its results files."""

    schema: str
    """`main`, or `other` for the second run."""
    model: str
    files: tuple[int, ...]

    @property
    def inside(self) -> str:
        """Its files, for `IN`; they are numbers."""
        return f"({', '.join(map(str, self.files))})"


@dataclass(frozen=True)
class TaskPair:
    """One task on both sides."""

    name: str
    rows: tuple[int, int]
    """Of its trajectories."""
    calls: tuple[int, int]
    failed: tuple[int, int]
    changed: int
    """Calls at the same place, of the same tool, whose class is another."""

    @property
    def gain(self) -> int:
        """Failures fewer on the second side; below 0 where there are more."""
        return self.failed[0] - self.failed[1]


@dataclass(frozen=True)
class CallPair:
    """The calls at the same place of both sides; None where one has none there."""

    calls: tuple[tuple[str, str, Outcome] | None, tuple[str, str, Outcome] | None]
    """Position, server/tool and outcome."""

    @property
    def changed(self) -> bool:
        """Same tool, other class."""
        one, other = self.calls
        return one is not None and other is not None and one[1] == other[1] and one[2] != other[2]


def attach(connection: sqlite3.Connection, path: Path) -> None:
    """Make a second run readable beside the first, as the schema `other`."""
    connection.execute(f"ATTACH ? AS {OTHER}", (f"{path.absolute().as_uri()}?mode=ro",))


def sides(connection: sqlite3.Connection) -> list[Side]:
    """All there is to choose from: the models of the run, and of the one beside it."""
    schemas = [name for _, name, _ in connection.execute("PRAGMA database_list") if name in {"main", OTHER}]
    found: dict[tuple[str, str], list[int]] = {}
    for schema in schemas:
        for file, model in connection.execute(f"SELECT id, model FROM {schema}.files ORDER BY id"):  # noqa: S608
            found.setdefault((schema, model), []).append(file)
    return [Side(schema, model, tuple(files)) for (schema, model), files in found.items()]


def task_pairs(connection: sqlite3.Connection, first: Side, second: Side) -> list[TaskPair]:
    """The tasks that both sides have, those that got most worse first."""
    pairs = connection.execute(
        f"SELECT a.name, a.id, b.id FROM {first.schema}.trajectories a "  # noqa: S608
        f"JOIN {second.schema}.trajectories b ON b.name = a.name "
        f"WHERE b.file IN {second.inside} AND a.file IN {first.inside}"
    ).fetchall()
    counts = [dict(_counts(connection, side)) for side in (first, second)]
    changed = dict(_changed(connection, first, second))
    found = []
    for name, one, other in pairs:
        (calls, failed), (calls_after, failed_after) = counts[0].get(one, (0, 0)), counts[1].get(other, (0, 0))
        found.append(TaskPair(name, (one, other), (calls, calls_after), (failed, failed_after), changed.get(one, 0)))
    return sorted(found, key=lambda pair: (pair.gain, -pair.changed, pair.name))


def call_pairs(connection: sqlite3.Connection, first: Side, second: Side, pair: TaskPair) -> list[CallPair]:
    """The calls of a task, place by place."""
    columns = [_calls(connection, side, row) for side, row in zip((first, second), pair.rows, strict=True)]
    places = range(max(map(len, columns), default=0))
    return [
        CallPair((columns[0][at] if at < len(columns[0]) else None, columns[1][at] if at < len(columns[1]) else None))
        for at in places
    ]


def _calls(connection: sqlite3.Connection, side: Side, row: int) -> list[tuple[str, str, Outcome]]:
    rows = connection.execute(
        "SELECT position, ifnull(server, ''), ifnull(tool, ''), outcome "  # noqa: S608
        f"FROM {side.schema}.calls WHERE trajectory = ? ORDER BY ordinal",
        (row,),
    )
    return [(position, f"{server}/{tool}" if server else tool, Outcome(out)) for position, server, tool, out in rows]


def _counts(connection: sqlite3.Connection, side: Side) -> Iterator[tuple[int, tuple[int, int]]]:
    rows = connection.execute(
        f"SELECT m.trajectory, count(*), sum({_FAILED}) FROM {side.schema}.trajectories t "  # noqa: S608
        f"JOIN {side.schema}.marks m ON m.trajectory = t.id JOIN {side.schema}.kinds k ON k.id = m.kind "
        f"WHERE t.file IN {side.inside} GROUP BY m.trajectory"
    )
    for trajectory, calls, failed in rows:
        yield trajectory, (calls, failed)


def _changed(connection: sqlite3.Connection, first: Side, second: Side) -> Iterator[tuple[int, int]]:
    one, other = first.schema, second.schema
    yield from connection.execute(
        f"""
        SELECT a.id, count(*) FROM {one}.trajectories a JOIN {other}.trajectories b ON b.name = a.name
        JOIN {one}.marks m ON m.trajectory = a.id JOIN {one}.kinds k ON k.id = m.kind
        JOIN {other}.marks n ON n.trajectory = b.id AND n.ordinal = m.ordinal JOIN {other}.kinds l ON l.id = n.kind
        WHERE a.file IN {first.inside} AND b.file IN {second.inside}
          AND k.server = l.server AND k.tool = l.tool AND k.outcome <> l.outcome GROUP BY a.id
        """  # noqa: S608
    )
