"""The rows of the run document, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replay.records import qualified_name
from replay.records.files import CallRow, TrajectoryRow
from replay.runfile.conditions import in_files
from replay.runfile.rows import rows_as_dicts, verdict_of_row
from replay.runfile.run import Run


def trajectory_rows(run: Run, files: Sequence[int] | None = None) -> Iterator[TrajectoryRow]:
    """The trajectories of these files (by the run's numbers, by default all), in the order in which they were read."""
    rows = run.connection.execute(
        f"""
        SELECT f.path, f.model, t.name, t.task_type, t.question, t.calls, t.steps
        FROM trajectories t JOIN files f ON f.id = t.file WHERE {in_files("f.id", files)} ORDER BY t.file, t.id
        """  # noqa: S608
    )
    for path, model, name, task_type, question, calls, steps in rows:
        yield TrajectoryRow(
            file=path, model=model, trajectory=name, task_type=task_type, question=question, calls=calls, steps=steps
        )


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
    for columns in rows_as_dicts(run.connection.execute(query)):
        yield CallRow(
            file=columns["file_path"],
            model=columns["model"],
            trajectory=columns["trajectory_name"],
            call=columns["position"],
            server=columns["server"],
            tool=qualified_name(columns["server"], columns["tool"]) or None,
            task_type=columns["task_type"],
            **dict(verdict_of_row(columns)),
        )
