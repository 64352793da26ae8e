"""The tables that models are compared by: runs of tasks, figures of their alignment, calls in groups, findings, and the
replies of judges. Each of these is there as soon as it came, and is never asked for again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Any, Final, NamedTuple

from replay.records import UNFOUNDED, Certainty, Fault, Outcome, Trajectory
from replay.records.alignment import METRICS, AlignedModel, AlignedTask
from replay.records.comparison import FindingOfModel
from replay.records.rating import Protocol, Rating, RatingKey, recorded_scores
from replay.records.time_span import utc
from replay.runfile.effects_journal import absolute_path
from replay.runfile.rows import fault_in_sql, in_files, insertion, is_failure, pack, placeholders, unpack
from replay.safety.redaction import Redactor


def save_task_run(db: sqlite3.Connection, row: int, name: str, trajectory: Trajectory, redactor: Redactor) -> None:
    """Keep what the table `task_runs` has of a trajectory.

    Args:
        db: in a transaction.
        row: of the trajectory.
        name: its id in the run file.
        trajectory: as it was read.
        redactor: takes the secrets out.
    """
    task, usage, reported = trajectory.task, trajectory.usage, trajectory.reported
    started_at, seconds = times_of(trajectory)
    values: Mapping[str, Any] = {
        "trajectory": row,
        "model": redactor.text(trajectory.model),
        "task": redactor.text(task.id) if task.id else name,
        "labels": json.dumps(redactor.json(task.labels or {}), ensure_ascii=False),
        "parent": redactor.text(trajectory.parent.trajectory) if trajectory.parent else None,
        "passed": reported.passed if reported else None,
        "score": reported.score if reported else None,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "started_at": started_at,
        "seconds": seconds,
        "recorded_scores": scores_of(trajectory),
    }
    db.execute(insertion("task_runs", values, verb="INSERT OR REPLACE"), tuple(values.values()))


def times_of(trajectory: Trajectory) -> tuple[str | None, float | None]:
    """When a trajectory began, in UTC, and the seconds up to the end of its last call; None where it has no times."""
    ends = [call.started + (call.seconds or 0) for call in trajectory.calls() if call.started is not None]
    return utc(trajectory.started_at), max(ends, default=None)


def scores_of(trajectory: Trajectory) -> str | None:
    """The scores that the file holds of the task run, as JSON; None where it holds none."""
    reported = trajectory.reported
    scores = recorded_scores(trajectory.source.format, reported.details if reported else None)
    return json.dumps(scores) if scores else None


def rebuild_task_runs(db: sqlite3.Connection) -> None:
    """Fill `task_runs` anew from the records of the trajectories; none of them counts as diagnosed."""
    db.execute("DELETE FROM task_runs")
    for row, name, record in db.execute("SELECT id, name, record FROM trajectories").fetchall():
        save_task_run(db, row, name, Trajectory.model_validate(unpack(record)), Redactor())


def save_task_score(db: sqlite3.Connection, file: int, task: AlignedTask, trajectory: int | None) -> None:
    """Keep the figures of one aligned task.

    Args:
        db: in a transaction.
        file: under which its alignment stands.
        task: as it was aligned.
        trajectory: the row of the trajectory that was aligned.
    """
    judge = task.judge
    values: Mapping[str, Any] = {
        "file": file,
        "task": task.id,
        "trajectory": trajectory,
        "task_type": task.type,
        "reference_calls": task.total_gt_calls,
        "predicted_calls": task.total_pred_calls,
        "matched": task.matched,
        "steps": task.steps,
        **{name: getattr(task, name) for name in METRICS},
        "completion_rate": judge.completion_rate if judge else None,
        "information_grounding_rate": judge.information_grounding_rate if judge else None,
    }
    db.execute(insertion("task_scores", values, verb="INSERT OR REPLACE"), tuple(values.values()))


def rebuild_task_scores(db: sqlite3.Connection) -> None:
    """Fill `task_scores` anew from the records of the alignments."""
    db.execute("DELETE FROM task_scores")
    for file, record in db.execute("SELECT file, record FROM alignments").fetchall():
        rows = rows_by_id(db, AlignedModel.model_validate(unpack(record)))
        for (task,) in db.execute("SELECT record FROM aligned_tasks WHERE file = ?", (file,)).fetchall():
            aligned = AlignedTask.model_validate(unpack(task))
            save_task_score(db, file, aligned, row_of_task(aligned.id, rows))


def rows_by_id(db: sqlite3.Connection, model: AlignedModel) -> dict[str, int]:
    """The trajectories of an alignment's files, by id."""
    paths = tuple(absolute_path(path) for path in model.files or (model.file,))
    query = (
        "SELECT t.name, t.id FROM trajectories t JOIN files f ON f.id = t.file "  # noqa: S608
        f"WHERE f.absolute_path IN ({placeholders(paths)})"
    )
    return dict(db.execute(query, paths))


def row_of_task(task: str, rows: Mapping[str, int]) -> int | None:
    """The trajectory of a task, also where JSON wrote its id without leading zeros."""
    return rows.get(task, rows.get(task.lstrip("0") if task.isdecimal() else task))


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
    recorded_scores: dict[str, float]
    """By the ids of `RECORDED_SCORES`."""
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    seconds: float | None
    """Up to the end of its last call."""


class CallGroup(NamedTuple):
    """What calls are counted by."""

    server: str
    tool: str
    outcome: Outcome
    unfounded: bool
    """Their verdicts rest on nothing but the absence of an error, or of an error's cause."""
    fault: Fault | None
    """Whose fault it is that they did not succeed."""


class TaskScores(NamedTuple):
    """The figures of one aligned task."""

    trajectory: int
    type: str | None
    total_gt_calls: int
    total_pred_calls: int
    matched: int
    scores: tuple[float | None, ...]
    """In the order of `METRICS`; None for what an older version did not compute."""
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
        "k.parent, k.passed, k.score, k.recorded_scores, t.calls, k.input_tokens, k.output_tokens, k.seconds "
        "FROM trajectories t JOIN files f ON f.id = t.file LEFT JOIN task_runs k ON k.trajectory = t.id "
        f"WHERE {in_files('t.file', files)} ORDER BY t.file, t.id"
    )
    read: dict[str | None, dict[str, str]] = {None: {}, "": {}}
    for row, file, name, model, task, type_, labels, parent, passed, score, scores, *taken in rows:
        known = None if passed is None else bool(passed)
        if labels not in read:
            read[labels] = json.loads(labels)
        recorded = json.loads(scores) if scores else {}
        about = intern(model), intern(task), type_, read[labels], parent
        yield TrajectoryFacts(row, file, name, *about, known, score, recorded, *taken)


class SessionFacts(NamedTuple):
    """What a trajectory took, as far as its recording says."""

    started_at: str | None
    seconds: float | None
    tokens: int | None
    """Read and written."""
    recovered: int
    """Failed calls in spite of which the task went on, as findings tell."""


def session_facts(connection: sqlite3.Connection) -> dict[int, SessionFacts]:
    """What each trajectory took, by its row."""
    rows = connection.execute(
        "SELECT trajectory, started_at, seconds, input_tokens + ifnull(output_tokens, 0), "  # noqa: S608
        f"(SELECT count(*) FROM ({_RECOVERED_CALLS}) r WHERE r.trajectory = k.trajectory) FROM task_runs k"
    )
    return {row: SessionFacts(*facts) for row, *facts in rows}


def label_names(connection: sqlite3.Connection) -> list[str]:
    """The names of the tasks' labels, such as `difficulty`, in the order of the alphabet."""
    rows = connection.execute("SELECT DISTINCT labels FROM task_runs")
    return sorted({name for (labels,) in rows if labels for name in json.loads(labels)})


def call_groups(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> dict[int, CallGroup]:
    """The groups of calls, by the number under which `grouped_calls` has them."""
    rows = connection.execute(
        f"SELECT id, server, tool, outcome, certainty = ?, {fault_in_sql()} FROM call_groups "  # noqa: S608
        f"WHERE n > 0 AND {in_files('file', files)}",
        (UNFOUNDED,),
    )
    same: dict[tuple[str | int, ...], CallGroup] = {}  # of every file there is one, and few are different
    found = {}
    for number, *columns in rows:
        group = same.get(tuple(columns))
        if group is None:
            server, tool, outcome, unfounded, fault = columns
            group = CallGroup(server, tool, Outcome(outcome), bool(unfounded), Fault(fault) if fault else None)
            same[tuple(columns)] = group
        found[number] = group
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
        f"s.information_grounding_rate, {', '.join(f's.{name}' for name in METRICS)} "
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


class FindingRow(NamedTuple):
    """The findings of one kind about one call."""

    ordinal: int
    """Of the call; -1 for the trajectory as a whole."""
    kind: str
    certainty: Certainty
    n: int


def keep_findings(db: sqlite3.Connection, row: int, found: Iterable[FindingRow]) -> None:
    """Keep the findings of a trajectory in the place of all that were known of it; committed with the next `flush`."""
    if not db.in_transaction:
        db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM findings WHERE trajectory = ?", (row,))
    db.executemany("INSERT INTO findings VALUES (?, ?, ?, ?, ?)", ((row, *one) for one in found))
    db.execute("UPDATE task_runs SET diagnosed = 1 WHERE trajectory = ?", (row,))


def undiagnosed(connection: sqlite3.Connection) -> list[int]:
    """The trajectories that are done and whose findings were not looked for."""
    rows = connection.execute(
        "SELECT t.id FROM trajectories t JOIN task_runs k ON k.trajectory = t.id "
        "WHERE t.done AND NOT k.diagnosed ORDER BY t.id"
    )
    return [row for (row,) in rows]


def finding_counts(connection: sqlite3.Connection, files: Sequence[int] | None = None) -> list[FindingOfModel]:
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
    return [FindingOfModel(model=model, kind=kind, n=n, trajectories=count) for model, kind, n, count in rows]


def kinds_found(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The kinds that stand in the run, in the order of the alphabet."""
    return tuple(kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM findings ORDER BY 1"))


def outcomes_by_trajectory(connection: sqlite3.Connection) -> dict[int, dict[Outcome, int]]:
    """How many calls of each outcome every trajectory has, by its row."""
    counts: dict[int, dict[Outcome, int]] = {}
    for row, outcome, number in connection.execute("SELECT trajectory, outcome, count(*) FROM calls GROUP BY 1, 2"):
        counts.setdefault(row, {})[Outcome(outcome)] = number
    return counts


def is_rated(connection: sqlite3.Connection, key: RatingKey, judge_model: str, digest: str) -> bool:
    """Whether this judge answered this very prompt already."""
    found = connection.execute(
        "SELECT 1 FROM ratings WHERE (path, trajectory, protocol, prompt, judge, shuffle, judge_model, digest) "
        "= (?, ?, ?, ?, ?, ?, ?, ?)",
        (*_columns(key), judge_model, digest),
    )
    return found.fetchone() is not None


def save_rating(db: sqlite3.Connection, rating: Rating) -> None:
    """Keep a reply, in the place of one to an earlier prompt."""
    db.execute(
        "INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*_columns(rating), rating.judge_model, rating.digest, pack(rating.model_dump(mode="json"))),
    )


def _columns(key: RatingKey) -> tuple[str | int, ...]:
    return key.file, key.trajectory, key.protocol, key.prompt, key.judge, key.shuffle


def ratings(connection: sqlite3.Connection, protocol: Protocol, paths: Sequence[str]) -> Iterator[Rating]:
    """The replies about the trajectories of these files, in the order of files, trajectories and judges."""
    rows = connection.execute(
        f"SELECT record FROM ratings WHERE protocol = ? AND path IN ({placeholders(paths)}) "  # noqa: S608
        "ORDER BY path, trajectory, prompt, judge, shuffle",
        (protocol, *paths),
    )
    return (Rating.model_validate(unpack(record)) for (record,) in rows)


def outcomes_by_file_and_id(connection: sqlite3.Connection) -> dict[tuple[str, str], dict[Outcome, int]]:
    """How many calls of each outcome every trajectory has, by the absolute path of its file and its id."""
    counts = outcomes_by_trajectory(connection)
    return {(path, name): counts[row] for path, name, row in trajectories_by_path(connection) if row in counts}


def trajectories_by_path(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """The absolute path of its file, the id and the row of each trajectory, in the order in which they were read."""
    rows = connection.execute(
        "SELECT ifnull(f.absolute_path, f.path), t.name, t.id FROM trajectories t JOIN files f ON f.id = t.file "
        "ORDER BY t.file, t.id"
    )
    return rows.fetchall()
