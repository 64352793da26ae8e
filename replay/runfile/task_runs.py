"""The tables `task_runs` and `task_scores`: a trajectory as a run of its task, and the figures of its alignment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from replay.records import AlignedModel, AlignedTask, Trajectory
from replay.runfile.conditions import placeholders
from replay.runfile.effects_journal import absolute_path
from replay.runfile.rows import unpack
from replay.safety.redaction import Redactor

SCORE_COLUMNS: Final = (
    "recall",
    "precision",
    "argument_similarity",
    "argument_similarity_strong",
    "step_coherence",
    "order_consistency",
    "merge_purity",
)


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
    passed = None if reported is None or reported.passed is None else int(reported.passed)
    db.execute(
        "INSERT OR REPLACE INTO task_runs (trajectory, model, task, labels, parent, passed, score, input_tokens, "
        "output_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row,
            redactor.text(trajectory.model),
            redactor.text(task.id) if task.id else name,
            json.dumps(redactor.json(task.labels or {}), ensure_ascii=False),
            redactor.text(trajectory.parent.trajectory) if trajectory.parent else None,
            passed,
            reported.score if reported else None,
            usage.input_tokens if usage else None,
            usage.output_tokens if usage else None,
        ),
    )


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
        **{name: getattr(task, name) for name in SCORE_COLUMNS},
        "completion_rate": judge.completion_rate if judge else None,
        "information_grounding_rate": judge.information_grounding_rate if judge else None,
    }
    marks = ", ".join("?" * len(values))
    db.execute(
        f"INSERT OR REPLACE INTO task_scores ({', '.join(values)}) VALUES ({marks})",  # noqa: S608
        tuple(values.values()),
    )


def rebuild_task_scores(db: sqlite3.Connection) -> None:
    """Fill `task_scores` anew from the records of the alignments."""
    db.execute("DELETE FROM task_scores")
    for file, record in db.execute("SELECT file, record FROM alignments").fetchall():
        rows = trajectory_rows(db, AlignedModel.model_validate(unpack(record)))
        for (task,) in db.execute("SELECT record FROM aligned_tasks WHERE file = ?", (file,)).fetchall():
            aligned = AlignedTask.model_validate(unpack(task))
            save_task_score(db, file, aligned, row_of_task(aligned.id, rows))


def trajectory_rows(db: sqlite3.Connection, model: AlignedModel) -> dict[str, int]:
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
