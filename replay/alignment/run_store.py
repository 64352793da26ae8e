"""What an alignment takes from a run, and what it leaves there for the other verbs."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from replay.alignment.aligner import Alignment, Outcomes
from replay.alignment.reference import Reference
from replay.alignment.signature import SignedCall
from replay.errors import RunFileError, UsageError
from replay.records import Outcome, Record, Server
from replay.runfile import Run
from replay.runfile.json_blob import pack


class RunStore:
    """A run file, read before the alignment and written after it.

    Raises:
        RunFileError: it is not a run file, or it is newer than we are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with Run.read(path) as run:
            self.servers: dict[str, Server] = run.servers()
            self._paths = dict(run.connection.execute("SELECT path, id FROM files"))

    def outcomes(self, file: str) -> Outcomes | None:
        """The outcomes of a results file by task id and position; None where the run does not hold the file."""
        row = self._row(file)
        if row is None:
            return None
        found: dict[str, dict[str, Outcome]] = defaultdict(dict)
        with Run.read(self._path) as run:
            query = (
                "SELECT t.name, c.position, c.outcome FROM calls c JOIN trajectories t ON t.id = c.trajectory "
                "WHERE t.file = ?"
            )
            for task, position, outcome in run.connection.execute(query, (row,)):
                found[task][position] = Outcome(outcome)
        return dict(found) or None

    def save(self, alignments: Sequence[Alignment], reference: Reference) -> tuple[str, ...]:
        """Keep the alignments of files that the run holds, and the calls that they were aligned with.

        Gives the paths of the other files.

        Raises:
            RunFileError: another process writes the run, or it cannot be written.
        """
        rows = {alignment.model.file: self._row(alignment.model.file) for alignment in alignments}
        try:
            with Run.open(self._path) as run, run.transaction() as db:
                for alignment in alignments:
                    row = rows[alignment.model.file]
                    if row is not None:
                        _insert(db, row, alignment, reference)
        except sqlite3.Error as error:
            raise RunFileError(str(self._path), str(error)) from None
        return tuple(file for file, row in rows.items() if row is None)

    def _row(self, file: str) -> int | None:
        """The run's own number of a file, by its path as written, else as resolved."""
        if file in self._paths:
            return int(self._paths[file])
        resolved = Path(file).resolve()
        return next((int(row) for path, row in self._paths.items() if Path(path).resolve() == resolved), None)


def _insert(db: sqlite3.Connection, row: int, alignment: Alignment, reference: Reference) -> None:
    db.execute("INSERT OR REPLACE INTO alignments VALUES (?, ?)", (row, _packed(alignment.model)))
    db.execute("DELETE FROM aligned_tasks WHERE file = ?", (row,))
    db.executemany(
        "INSERT INTO aligned_tasks VALUES (?, ?, ?)", ((row, task.id, _packed(task)) for task in alignment.tasks)
    )
    db.executemany(
        "INSERT OR REPLACE INTO reference_tasks VALUES (?, ?)",
        ((task.id, _packed_calls(reference.tasks[task.id].calls)) for task in alignment.tasks),
    )


def _packed(record: Record) -> bytes:
    return pack(record.model_dump(mode="json"))


def _packed_calls(calls: Iterable[SignedCall]) -> bytes:
    return pack([[call.index, call.step, call.position, call.name, call.signature] for call in calls])


def open_store(path: Path, *, asked: bool) -> RunStore | None:
    """The run, where there is one.

    Raises:
        UsageError: it was asked for by name and is not there.
    """
    if path.exists():
        return RunStore(path)
    if asked:
        raise UsageError(f"{path}: there is no such run; make one with: replay classify")
    return None
