"""Counts at once, from the tables `outcome_counts` and `call_groups`: a browser asks for them while the run grows."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from replay.records import FAILURES, Outcome
from replay.runfile.conditions import placeholders

Breakdown: TypeAlias = Literal["server", "tool", "task_type", "rule", "reason"]


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


def data_version(connection: sqlite3.Connection) -> int:
    """A number that moves when another process wrote to the run."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def model_counts(connection: sqlite3.Connection) -> list[ModelCount]:
    """The models, with how many calls of each outcome."""
    counts: dict[int, dict[Outcome, int]] = {}
    for file, outcome, number in connection.execute(
        "SELECT file, outcome, sum(n) FROM outcome_counts WHERE n > 0 GROUP BY file, outcome"
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
    table = "outcome_counts" if by in {"task_type", "reason"} else "call_groups"
    inside = f"file IN ({placeholders(files)})" if files else "1"
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
    return sum(outcomes.get(outcome, 0) for outcome in FAILURES)


def root_groups(connection: sqlite3.Connection, files: Sequence[int] = (), limit: int = 50) -> list[RootGroup]:
    """The failures that made others fail, alike ones together; those that most followed from first."""
    inside = f"c.file IN ({placeholders(files)}) AND" if files else ""
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
        (*files, limit),
    )
    return [RootGroup(server, tool, Outcome(outcome), *rest) for server, tool, outcome, *rest in rows]
