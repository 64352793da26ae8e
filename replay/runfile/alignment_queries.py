"""What `replay align` takes from a run, and what it leaves there for the other verbs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import NamedTuple

from replay.records import Outcome
from replay.records.alignment import COLUMNS, AlignedCall, AlignedModel, AlignedTask
from replay.runfile.effects_journal import absolute_path
from replay.runfile.rows import pack, placeholders, unpack
from replay.runfile.run import Run
from replay.runfile.task_runs import row_of_task, rows_by_id, save_task_score


@dataclass(frozen=True)
class ReferenceCall:
    """A call of the reference, as the alignment counts them."""

    index: int
    step: int
    position: str
    name: str
    signature: str
    """Its arguments as JSON."""

    @property
    def title(self) -> str:
        """`R3 s2c1 server/tool`: its number, and what it is."""
        return f"R{self.index} {self.position} {self.name}"


@dataclass(frozen=True)
class AlignedTrajectory:
    """A trajectory's alignment, with the reference's calls."""

    model: AlignedModel
    task: AlignedTask
    reference: tuple[ReferenceCall, ...]

    def aligned(self, position: str) -> AlignedCall | None:
        """What became of a predicted call."""
        return next((call for call in self.task.calls if call.position == position), None)

    def counterpart(self, position: str) -> tuple[ReferenceCall, float] | None:
        """The reference call that a predicted call was matched with, and how alike they are."""
        call = self.aligned(position)
        for number, predicted, similarity in self.task.matches:
            if call is not None and predicted == call.index:
                return next(((one, similarity) for one in self.reference if one.index == number), None)
        return None

    def matched_with(self, number: int) -> tuple[AlignedCall, float] | None:
        """The predicted call that a reference call was matched with, and how alike they are."""
        for reference, predicted, similarity in self.task.matches:
            if reference == number:
                return next(((call, similarity) for call in self.task.calls if call.index == predicted), None)
        return None


def aligned_models(connection: sqlite3.Connection) -> dict[int, AlignedModel]:
    """By file, in the order of the files."""
    rows = connection.execute("SELECT file, record FROM alignments ORDER BY file")
    return {file: AlignedModel.model_validate(unpack(record)) for file, record in rows}


def trajectory_of(connection: sqlite3.Connection, model: AlignedModel, task: str) -> int | None:
    """The row of the trajectory that was aligned for a task; None where the run does not hold it any more."""
    written = model.files or (model.file,)
    paths = tuple(map(absolute_path, written))  # the run may be looked at from another directory: as written, too
    found = connection.execute(
        "SELECT t.id FROM trajectories t JOIN files f ON f.id = t.file "  # noqa: S608
        f"WHERE (f.absolute_path IN ({placeholders(paths)}) OR f.path IN ({placeholders(written)})) AND t.name = ?",
        (*paths, *written, task),
    ).fetchone()
    return None if found is None else int(found[0])


def alignment_of(
    connection: sqlite3.Connection, path: str, name: str, models: Mapping[int, AlignedModel] | None = None
) -> AlignedTrajectory | None:
    """The alignment of a trajectory; None where it has none.

    Args:
        connection: of the run.
        path: of its results file.
        name: its id.
        models: those of `aligned_models`, where they were read already.
    """
    known = aligned_models(connection) if models is None else models
    file = file_of(known, path)
    task = aligned_task(connection, file, name) if file is not None else None
    if file is None or task is None:
        return None
    return AlignedTrajectory(known[file], task, tuple(reference_calls(connection, task.id)))


def file_of(models: Mapping[int, AlignedModel], path: str) -> int | None:
    """The file under which the alignment of a results file is kept: of several of one model, the first."""
    wanted = absolute_path(path)
    return next(
        (row for row, model in models.items() if wanted in map(absolute_path, model.files or (model.file,))), None
    )


class TaskRow(NamedTuple):
    """An aligned task as a line of a table."""

    name: str
    type: str | None
    scores: tuple[float, ...]
    """In the order of `COLUMNS`."""


def task_rows(connection: sqlite3.Connection, file: int) -> list[TaskRow]:
    """The aligned tasks of a file, in the order of their names."""
    query = f"SELECT task, task_type, {', '.join(COLUMNS)} FROM task_scores WHERE file = ? ORDER BY task"  # noqa: S608
    return [TaskRow(task, type_, tuple(scores)) for task, type_, *scores in connection.execute(query, (file,))]


def aligned_task(connection: sqlite3.Connection, file: int, task: str) -> AlignedTask | None:
    """One of them."""
    return next(iter(_tasks(connection, "WHERE file = ? AND task = ?", file, task)), None)


def aligned_task_of(connection: sqlite3.Connection, trajectory: int) -> AlignedTask | None:
    """What the alignment found of a trajectory, by its row."""
    return next(
        iter(_tasks(connection, "JOIN task_scores s USING (file, task) WHERE s.trajectory = ?", trajectory)), None
    )


def aligned_tasks(connection: sqlite3.Connection, file: int) -> list[AlignedTask]:
    """The aligned tasks of a file, in the order of their names."""
    return _tasks(connection, "WHERE file = ? ORDER BY task", file)


def _tasks(connection: sqlite3.Connection, condition: str, *values: object) -> list[AlignedTask]:
    rows = connection.execute(f"SELECT a.record FROM aligned_tasks a {condition}", values)  # noqa: S608
    return [AlignedTask.model_validate(unpack(record)) for (record,) in rows]


def reference_calls(connection: sqlite3.Connection, task: str) -> list[ReferenceCall]:
    """The reference's calls of a task."""
    found = connection.execute("SELECT record FROM reference_tasks WHERE task = ?", (task,)).fetchone()
    return [] if found is None else [ReferenceCall(*call) for call in unpack(found[0])]


def file_outcomes(run: Run, file: int) -> dict[str, dict[str, Outcome]]:
    """The outcomes of a results file's calls, by trajectory and position."""
    found: dict[str, dict[str, Outcome]] = {}
    query = (
        "SELECT t.name, c.position, c.outcome FROM calls c JOIN trajectories t ON t.id = c.trajectory WHERE t.file = ?"
    )
    for task, position, outcome in run.connection.execute(query, (file,)):
        found.setdefault(task, {})[position] = Outcome(outcome)
    return found


def save_alignment(
    db: sqlite3.Connection,
    file: int,
    model: AlignedModel,
    tasks: Iterable[AlignedTask],
    reference: Mapping[str, Iterable[ReferenceCall]],
) -> None:
    """Keep the alignment of one file, or of several of one model, in the place of every earlier one of these files.

    Args:
        db: inside a transaction of the run.
        file: its number in the run; of several, that of the first.
        model: the metrics.
        tasks: the aligned tasks.
        reference: the reference's calls of each of these tasks.
    """
    paths = {absolute_path(path) for path in model.files or (model.file,)}
    for row, earlier in aligned_models(db).items():
        if row == file or paths & {absolute_path(path) for path in earlier.files or (earlier.file,)}:
            db.execute("DELETE FROM alignments WHERE file = ?", (row,))
            db.execute("DELETE FROM aligned_tasks WHERE file = ?", (row,))
            db.execute("DELETE FROM task_scores WHERE file = ?", (row,))
    db.execute("INSERT INTO alignments VALUES (?, ?)", (file, pack(model.model_dump(mode="json"))))
    rows = rows_by_id(db, model)
    for task in tasks:
        db.execute("INSERT INTO aligned_tasks VALUES (?, ?, ?)", (file, task.id, pack(task.model_dump(mode="json"))))
        trajectory = row_of_task(task.id, rows)
        save_task_score(db, file, task, trajectory)
        db.execute("UPDATE task_runs SET diagnosed = 0 WHERE trajectory = ?", (trajectory,))
    db.executemany(
        "INSERT OR REPLACE INTO reference_tasks VALUES (?, ?)",
        ((task, pack([astuple(call) for call in calls])) for task, calls in reference.items()),
    )
