"""What `replay align` left in a run, as a browser asks for it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from replay.records.alignment import AlignedModel, AlignedTask
from replay.runfile.json_blob import unpack


@dataclass(frozen=True)
class ReferenceCall:
    """A call of the reference, as the alignment counts them."""

    index: int
    step: int
    position: str
    name: str
    signature: str
    """Its arguments as JSON."""


def aligned_models(connection: sqlite3.Connection) -> dict[int, AlignedModel]:
    """By file, in the order of the files."""
    rows = connection.execute("SELECT file, record FROM alignments ORDER BY file")
    return {file: AlignedModel.model_validate(unpack(record)) for file, record in rows}


def task_names(connection: sqlite3.Connection, file: int) -> list[str]:
    """The aligned tasks of a file."""
    return [task for (task,) in connection.execute("SELECT task FROM aligned_tasks WHERE file = ? ORDER BY 1", (file,))]


def aligned_task(connection: sqlite3.Connection, file: int, task: str) -> AlignedTask | None:
    """One of them."""
    found = connection.execute("SELECT record FROM aligned_tasks WHERE file = ? AND task = ?", (file, task)).fetchone()
    return None if found is None else AlignedTask.model_validate(unpack(found[0]))


def reference_calls(connection: sqlite3.Connection, task: str) -> list[ReferenceCall]:
    """The reference's calls of a task."""
    found = connection.execute("SELECT record FROM reference_tasks WHERE task = ?", (task,)).fetchone()
    return [] if found is None else [ReferenceCall(*call) for call in unpack(found[0])]
