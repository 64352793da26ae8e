"""The rows of the run document, one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from replay.records.files import CallRow, TrajectoryRow
from replay.runfile.rows import verdict_of_row
from replay.runfile.run import Run


def trajectory_rows(run: Run, where: str = "1") -> Iterator[TrajectoryRow]:
    """The trajectories, in the order in which they were read; `where` is an SQL condition over `t` and `f`."""
    rows = run.connection.execute(
        f"""
        SELECT f.path, f.model, t.name, t.task_type, t.question, t.calls, t.steps
        FROM trajectories t JOIN files f ON f.id = t.file WHERE {where} ORDER BY t.file, t.id
        """  # noqa: S608
    )
    for path, model, name, task_type, question, calls, steps in rows:
        yield TrajectoryRow(
            file=path, model=model, trajectory=name, task_type=task_type, question=question, calls=calls, steps=steps
        )


def call_rows(run: Run, where: str = "1", parameters: tuple[object, ...] = ()) -> Iterator[CallRow]:
    """Calls with their verdicts, trajectory by trajectory, in the order of the steps.

    Args:
        run: open for reading or writing.
        where: an SQL condition over `c` (calls), `t` (trajectories) and `f` (files).
        parameters: for its question marks.
    """
    query = f"""
        SELECT c.*, f.path AS file_path, f.model AS model, t.name AS trajectory_name
        FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file
        WHERE {where} ORDER BY c.file, c.trajectory, c.ordinal
    """  # noqa: S608
    cursor = run.connection.execute(query, parameters)
    names = [column[0] for column in cursor.description]
    for values in cursor:
        columns = dict(zip(names, values, strict=True))
        server, tool = columns["server"], columns["tool"]
        yield CallRow(
            file=columns["file_path"],
            model=columns["model"],
            trajectory=columns["trajectory_name"],
            call=columns["position"],
            server=server,
            tool=f"{server}/{tool}" if server and tool else tool,
            task_type=columns["task_type"],
            **dict(verdict_of_row(columns)),
        )
