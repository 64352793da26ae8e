"""What models are compared by: their runs of tasks, the calls in them, and the figures of their alignment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from sys import intern
from typing import Final, NamedTuple

from replay.records import Outcome
from replay.runfile.conditions import in_files, is_failure
from replay.runfile.rows import unpack
from replay.runfile.task_runs import SCORE_COLUMNS

_CALLS: Final = "SELECT trajectory, call_group FROM call_group_index"
_RECOVERED_CALLS: Final = f"""
  SELECT m.trajectory, m.call_group FROM (
    SELECT DISTINCT trajectory, ordinal FROM findings WHERE kind IN ('later-succeeded', 'dependent-succeeded')
  ) n JOIN call_group_index m ON m.trajectory = n.trajectory AND m.ordinal = n.ordinal
  JOIN call_groups g ON g.id = m.call_group WHERE {is_failure("g.outcome")}
"""  # noqa: S608
_RECOVERED: Final = """
  EXISTS (SELECT 1 FROM findings n WHERE n.trajectory = m.trajectory AND n.ordinal = m.ordinal
    AND n.kind IN ('later-succeeded', 'dependent-succeeded'))
"""
"""The kinds of finding about a failed call that say that the task went on in spite of it."""


class TrajectoryFacts(NamedTuple):
    """One trajectory as a run of its task."""

    row: int
    file: int
    name: str
    model: str
    task: str
    type: str | None
    labels: dict[str, str]
    parent: str | None
    passed: bool | None
    score: float | None
    tokens: int | None
    """Read and written."""


class CallGroup(NamedTuple):
    """What calls are counted by."""

    server: str
    tool: str
    outcome: Outcome


class TaskScores(NamedTuple):
    """The figures of one aligned task."""

    trajectory: int
    type: str | None
    reference_calls: int
    predicted_calls: int
    matched: int
    scores: tuple[float, ...]
    """In the order of `SCORE_COLUMNS`."""
    completion: float | None
    grounding: float | None


def trajectory_facts(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> Iterator[TrajectoryFacts]:
    """The trajectories, in the order in which they were read.

    Args:
        connection: to the run file.
        files: the run's numbers of the files to take; by default all.
    """
    rows = connection.execute(
        "SELECT t.id, t.file, t.name, ifnull(k.model, f.model), ifnull(k.task, t.name), t.task_type, k.labels, "  # noqa: S608
        "k.parent, k.passed, k.score, CASE WHEN k.input_tokens IS NOT NULL OR k.output_tokens IS NOT NULL "
        "THEN ifnull(k.input_tokens, 0) + ifnull(k.output_tokens, 0) END "
        "FROM trajectories t JOIN files f ON f.id = t.file LEFT JOIN task_runs k ON k.trajectory = t.id "
        f"WHERE {in_files('t.file', files)} ORDER BY t.file, t.id"
    )
    read: dict[str | None, dict[str, str]] = {None: {}, "": {}}
    for row, file, name, model, task, type_, labels, parent, passed, score, tokens in rows:
        known = None if passed is None else bool(passed)
        if labels not in read:
            read[labels] = json.loads(labels)
        yield TrajectoryFacts(
            row, file, name, intern(model), intern(task), type_, read[labels], parent, known, score, tokens
        )


def label_names(connection: sqlite3.Connection) -> list[str]:
    """The names of the tasks' labels, such as `difficulty`, in the order of the alphabet."""
    rows = connection.execute("SELECT DISTINCT labels FROM task_runs")
    return sorted({name for (labels,) in rows if labels for name in json.loads(labels)})


def call_groups(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> dict[int, CallGroup]:
    """The groups of calls, by the number under which `grouped_calls` has them."""
    rows = connection.execute(
        f"SELECT id, server, tool, outcome FROM call_groups WHERE n > 0 AND {in_files('file', files)}"  # noqa: S608
    )
    same: dict[tuple[str, str, str], CallGroup] = {}  # of every file there is one, and few are different
    found = {}
    for number, server, tool, outcome in rows:
        found[number] = same.get((server, tool, outcome)) or same.setdefault(
            (server, tool, outcome), CallGroup(server, tool, Outcome(outcome))
        )
    return found


def grouped_calls(connection: sqlite3.Connection, *, recovered: bool = False) -> Iterator[tuple[int, int]]:
    """The trajectory and the group of each call, of all files.

    Args:
        connection: to the run file.
        recovered: only of failed calls that were recovered.
    """
    return connection.execute(_RECOVERED_CALLS if recovered else _CALLS)


def task_scores(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> Iterator[TaskScores]:
    """The figures of the aligned tasks whose trajectory the run holds."""
    rows = connection.execute(
        "SELECT s.trajectory, s.task_type, s.reference_calls, s.predicted_calls, s.matched, s.completion_rate, "  # noqa: S608
        f"s.information_grounding_rate, {', '.join(f's.{name}' for name in SCORE_COLUMNS)} "
        f"FROM task_scores s JOIN trajectories t ON t.id = s.trajectory WHERE {in_files('t.file', files)}"
    )
    for trajectory, type_, reference, predicted, matched, completion, grounding, *scores in rows:
        yield TaskScores(trajectory, type_, reference, predicted, matched, tuple(scores), completion, grounding)


def findings_by_trajectory(connection: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Which kinds of finding each trajectory shows."""
    yield from connection.execute("SELECT DISTINCT trajectory, kind FROM findings")


def recovery_by_finding(connection: sqlite3.Connection, files: Sequence[int] | None) -> Iterator[tuple[str, int, int]]:
    """Each kind of finding about failed calls: how many of these there are, and how many were recovered."""
    yield from connection.execute(
        f"SELECT f.kind, count(*), sum({_RECOVERED}) FROM findings f "  # noqa: S608
        "JOIN call_group_index m ON m.trajectory = f.trajectory AND m.ordinal = f.ordinal "
        "JOIN call_groups g ON g.id = m.call_group "
        f"WHERE {is_failure('g.outcome')} AND {in_files('g.file', files)} GROUP BY 1 ORDER BY 2 DESC, 1"
    )


def reference_tool_names(connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """The names of the tools that the reference calls in each task, where the run was aligned with one."""
    rows = connection.execute("SELECT task, record FROM reference_tasks")
    return {task: tuple(call[3] or "" for call in unpack(record)) for task, record in rows}
