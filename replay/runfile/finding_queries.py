"""The table `findings`: which kinds of finding each call and trajectory shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from replay.records import Certainty
from replay.runfile.conditions import in_files
from replay.runfile.run import Run


class FindingRow(NamedTuple):
    """The findings of one kind about one call."""

    ordinal: int
    """Of the call; -1 for the trajectory as a whole."""
    kind: str
    certainty: Certainty
    n: int


class FindingCount(NamedTuple):
    """How often a kind of finding stands in what one model did."""

    model: str
    kind: str
    n: int
    trajectories: int


def keep_findings(run: Run, row: int, found: Iterable[FindingRow]) -> None:
    """Keep the findings of a trajectory in the place of all that were known of it; committed with the next `flush`."""
    db = run.connection
    if not db.in_transaction:
        db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM findings WHERE trajectory = ?", (row,))
    db.executemany("INSERT INTO findings VALUES (?, ?, ?, ?, ?)", ((row, *one) for one in found))
    db.execute("UPDATE task_runs SET diagnosed = 1 WHERE trajectory = ?", (row,))


def undiagnosed(run: Run) -> list[int]:
    """The trajectories that are done and whose findings were not looked for."""
    rows = run.connection.execute(
        "SELECT t.id FROM trajectories t JOIN task_runs k ON k.trajectory = t.id "
        "WHERE t.done AND NOT k.diagnosed ORDER BY t.id"
    )
    return [row for (row,) in rows]


def finding_counts(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> list[FindingCount]:
    """How many findings of each kind each model has, and in how many trajectories; the most frequent first.

    Args:
        connection: to the run file.
        files: the run's numbers of the files to count; by default all.
    """
    rows = connection.execute(
        "SELECT k.model, f.kind, sum(f.n), count(DISTINCT f.trajectory) FROM findings f "  # noqa: S608
        "JOIN task_runs k ON k.trajectory = f.trajectory JOIN trajectories t ON t.id = f.trajectory "
        f"WHERE {in_files('t.file', files)} GROUP BY 1, 2 ORDER BY 3 DESC, 2, 1"
    )
    return [FindingCount(*row) for row in rows]


def kinds_found(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The kinds that stand in the run, in the order of the alphabet."""
    return tuple(kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM findings ORDER BY 1"))
