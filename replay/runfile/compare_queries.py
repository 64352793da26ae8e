"""Two models, or two runs, on the same tasks, set side by side without reading all calls."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final, NamedTuple

from replay.records import Certainty, Outcome, Reason, qualified_name
from replay.runfile.connection import readable_path
from replay.runfile.rows import in_files, is_failure
from replay.runfile.run import Run

OTHER: Final = "other"
"""The schema that a second run is attached as."""


@dataclass(frozen=True)
class RunModel:
    """One model of one run, with all of its results files."""

    schema: str
    """`main`, or `other` for the second run."""
    model: str
    files: tuple[int, ...]


@dataclass(frozen=True)
class TaskPair:
    """One task on both sides."""

    name: str
    rows: tuple[int, int]
    """Of its trajectories."""
    calls: tuple[int, int]
    failed: tuple[int, int]
    changed: int
    """Calls at the same place, of the same tool, whose outcome is another."""

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
        """The same tool, another outcome."""
        first, second = self.calls
        return first is not None and second is not None and first[1] == second[1] and first[2] != second[2]


class CallOutcome(NamedTuple):
    """How one call of a run came out."""

    model: str
    trajectory: str
    position: str
    tool: str | None
    """`server/tool` where both are known, else the name as written."""
    outcome: Outcome
    message: str
    arguments: str
    """The beginning of them, as JSON."""
    reason: Reason | None
    """Why it is inconclusive; None where it is not."""
    certainty: Certainty


def model_names(run: Run) -> list[str]:
    """The models of a run, in the order of its files."""
    return [model for (model,) in run.connection.execute("SELECT DISTINCT model FROM files ORDER BY id")]


def file_paths(connection: sqlite3.Connection) -> dict[int, str]:
    """The results files of a run by its numbers of them, in the order in which they were read."""
    return dict(connection.execute("SELECT id, path FROM files ORDER BY id"))


def file_locations(connection: sqlite3.Connection) -> dict[int, str]:
    """The absolute paths of the results files, by the run's numbers of them."""
    return dict(connection.execute("SELECT id, ifnull(absolute_path, path) FROM files"))


def has_format(connection: sqlite3.Connection, name: str, files: Sequence[int]) -> bool:
    """Whether one of these results files is of a format."""
    query = f"SELECT 1 FROM files WHERE format = ? AND {in_files('id', files)}"  # noqa: S608
    return connection.execute(query, (name,)).fetchone() is not None


def call_outcomes(run: Run) -> Iterator[CallOutcome]:
    """The calls of a run, trajectory by trajectory, in the order of the steps."""
    rows = run.connection.execute(
        "SELECT f.model, t.name, c.position, c.server, c.tool, c.outcome, c.message, ifnull(c.arguments, ''), "
        "CASE c.outcome WHEN 'inconclusive' THEN c.reason END, c.certainty "
        "FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = c.file "
        "ORDER BY c.file, c.trajectory, c.ordinal"
    )
    for model, trajectory, position, server, tool, outcome, message, arguments, reason, certainty in rows:
        name, why = qualified_name(server, tool) or None, Reason(reason) if reason else None
        yield CallOutcome(model, trajectory, position, name, Outcome(outcome), message, arguments, why, certainty)


def attach(connection: sqlite3.Connection, path: Path) -> None:
    """Make a second run readable beside the first, as the schema `other`."""
    connection.execute(f"ATTACH ? AS {OTHER}", (f"{readable_path(path).absolute().as_uri()}?mode=rw",))


def models_to_compare(connection: sqlite3.Connection) -> list[RunModel]:
    """All there is to choose from: the models of the run, and of the one beside it; what made no call is none."""
    schemas = [name for _, name, _ in connection.execute("PRAGMA database_list") if name in {"main", OTHER}]
    found: dict[tuple[str, str], list[int]] = {}
    for schema in schemas:
        files = (
            f"SELECT id, model FROM {schema}.files "  # noqa: S608
            f"WHERE id IN (SELECT file FROM {schema}.trajectories WHERE calls > 0) ORDER BY id"
        )
        for file, model in connection.execute(files):
            found.setdefault((schema, model), []).append(file)
    return [RunModel(schema, model, tuple(files)) for (schema, model), files in found.items()]


def task_pairs(connection: sqlite3.Connection, first: RunModel, second: RunModel) -> list[TaskPair]:
    """The runs of tasks that both sides have, those that got most worse first."""
    pairs = connection.execute(f"SELECT task, run, runs, a, b FROM ({_paired(first, second)})").fetchall()  # noqa: S608
    counts = [_counts(connection, side) for side in (first, second)]
    changed = _changed(connection, first, second)
    found = []
    for task, run, runs, *rows in pairs:
        calls, failed = zip(*(counted.get(row, (0, 0)) for counted, row in zip(counts, rows, strict=True)), strict=True)
        name = f"{task}, run {run}" if runs > 1 else task
        found.append(TaskPair(name, (rows[0], rows[1]), calls, failed, changed.get(rows[0], 0)))
    return sorted(found, key=lambda pair: (pair.gain, -pair.changed, pair.name))


def _paired(first: RunModel, second: RunModel) -> str:
    """The statement for what stands side by side: the first run of a task with the first, the second with the next."""
    sides = (
        f"SELECT id, name, row_number() OVER (PARTITION BY name ORDER BY file, id) AS run "  # noqa: S608
        f"FROM {side.schema}.trajectories WHERE {in_files('file', side.files)}"
        for side in (first, second)
    )
    return (
        "SELECT a.name AS task, a.run AS run, count(*) OVER (PARTITION BY a.name) AS runs, a.id AS a, b.id AS b "  # noqa: S608
        f"FROM ({next(sides)}) a JOIN ({next(sides)}) b ON b.name = a.name AND b.run = a.run"
    )


def call_pairs(connection: sqlite3.Connection, first: RunModel, second: RunModel, pair: TaskPair) -> list[CallPair]:
    """The calls of a task, ordinal by ordinal."""
    calls = [_calls(connection, side, row) for side, row in zip((first, second), pair.rows, strict=True)]
    return [CallPair((before, after)) for before, after in zip_longest(*calls)]


def _calls(connection: sqlite3.Connection, side: RunModel, row: int) -> list[tuple[str, str, Outcome]]:
    rows = connection.execute(
        "SELECT position, ifnull(server, ''), ifnull(tool, ''), outcome "  # noqa: S608
        f"FROM {side.schema}.calls WHERE trajectory = ? ORDER BY ordinal",
        (row,),
    )
    return [(position, qualified_name(server, tool), Outcome(name)) for position, server, tool, name in rows]


def _counts(connection: sqlite3.Connection, side: RunModel) -> dict[int, tuple[int, int]]:
    rows = connection.execute(
        f"SELECT m.trajectory, count(*), sum({is_failure('g.outcome')}) FROM {side.schema}.trajectories t "  # noqa: S608
        f"JOIN {side.schema}.call_group_index m ON m.trajectory = t.id "
        f"JOIN {side.schema}.call_groups g ON g.id = m.call_group "
        f"WHERE {in_files('t.file', side.files)} GROUP BY m.trajectory"
    )
    return {trajectory: (calls, failed) for trajectory, calls, failed in rows}


def _changed(connection: sqlite3.Connection, first: RunModel, second: RunModel) -> dict[int, int]:
    rows = connection.execute(
        f"""
        SELECT a, count(*) FROM ({_paired(first, second)})
        JOIN {first.schema}.call_group_index m ON m.trajectory = a
        JOIN {first.schema}.call_groups g ON g.id = m.call_group
        JOIN {second.schema}.call_group_index n ON n.trajectory = b AND n.ordinal = m.ordinal
        JOIN {second.schema}.call_groups h ON h.id = n.call_group
        WHERE g.server = h.server AND g.tool = h.tool AND g.outcome <> h.outcome GROUP BY a
        """  # noqa: S608
    )
    return dict(rows)
