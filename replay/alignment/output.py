"""Alignments for machines: JSON and CSV."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replay.alignment.aligner import Alignment, Outcomes
from replay.alignment.tasks import Reference
from replay.errors import RunFileError, UsageError
from replay.records import Certainty, Server
from replay.records.alignment import Aggregate, AlignedFile, AlignmentDocument, ReferenceFault, SweepRow
from replay.records.files import dump
from replay.records.summary import Unread
from replay.runfile import Run
from replay.runfile.alignment_queries import ReferenceCall, file_outcomes, save_alignment
from replay.runfile.compare_queries import file_paths
from replay.safety.redaction import Redactor
from replay.safety.text import csv_line, printable_json

_COLUMNS = (
    "file",
    "model",
    "scope",
    "id",
    "type",
    *(name for name in Aggregate.model_fields if name not in {"average_steps", "average_calls"}),
    "average_score",
    "average_steps",
    "average_calls",
)


def alignment_json(
    alignments: Sequence[Alignment],
    faults: Sequence[ReferenceFault],
    sweeps: Mapping[str, Sequence[SweepRow]],
    unread: Unread | None = None,
    certainties: Mapping[Certainty, int] | None = None,
) -> str:
    """`{"format", "version", "models": [{"file", "model", "definitions", "aggregate", ..., "tasks"}], ...}`.

    Args:
        alignments: one a model.
        faults: what is wrong with the reference.
        sweeps: by first file; empty without `--sweep`.
        unread: what could not be read.
        certainties: how many verdicts of the run are how certain; empty or None without a run.
    """
    document = AlignmentDocument(
        models=tuple(_with_tasks(alignment, sweeps.get(alignment.model.file)) for alignment in alignments),
        reference_faults=tuple(faults),
        certainties=dict(certainties) if certainties else None,
        unread=unread,
    )
    return printable_json(Redactor().json(dump(document)))


def to_csv(alignments: Sequence[Alignment]) -> str:
    """Rows of four scopes: `all` (a model), `with-missing`, `type` and `task`."""
    lines = [csv_line(_COLUMNS)]
    for alignment in alignments:
        own = {"file": alignment.model.file, "model": alignment.model.model}
        lines += [csv_line((own | row).get(column) for column in _COLUMNS) for row in _rows(alignment)]
    return "".join(lines)


def _rows(alignment: Alignment) -> Iterator[dict[str, Any]]:
    model = alignment.model
    yield {"scope": "all", "average_score": model.average_score, **model.aggregate.model_dump()}
    yield {
        "scope": "with-missing",
        "average_score": model.average_score_with_missing,
        **model.aggregate_with_missing.model_dump(),
    }
    for row in model.types:
        yield {"scope": "type", "type": row.type, "average_score": row.average_score, **row.aggregate.model_dump()}
    for task in alignment.tasks:
        scores = task.model_dump(include={"id", "type", *_COLUMNS})
        averages = {"average_steps": task.steps, "average_calls": task.total_pred_calls}
        yield {"scope": "task", **scores, "num_ids": 1, **averages}


def _with_tasks(alignment: Alignment, sweep: Sequence[SweepRow] | None) -> AlignedFile:
    model = alignment.model
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    return AlignedFile(**fields, sweep=None if sweep is None else tuple(sweep), tasks=alignment.tasks)


class RunStore:
    """A run file, read before the alignment and written after it.

    Raises:
        RunFileError: it is not a run file, or it is newer than we are.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with Run.read(path) as run:
            self.servers: dict[str, Server] = run.servers()
            self.paths = {path: row for row, path in file_paths(run.connection).items()}

    def outcomes(self, file: str) -> Outcomes | None:
        """The outcomes of a results file by task id and position; None where the run does not hold the file."""
        row = self._row(file)
        if row is None:
            return None
        with Run.read(self.path) as run:
            return file_outcomes(run, row) or None

    def save(self, alignments: Sequence[Alignment], reference: Reference) -> tuple[str, ...]:
        """Keep the alignments of files that the run holds, and the calls that they were aligned with.

        Of a model with several files the alignment of all together is kept. Gives the paths of the other files.

        Raises:
            RunFileError: another process writes the run, or it cannot be written.
        """
        rows = {file: self._row(file) for alignment in alignments for file in _files_of(alignment)}
        try:
            with Run.open(self.path) as run, run.transaction() as db:
                for alignment in alignments:
                    known = [row for file in _files_of(alignment) if (row := rows[file]) is not None]
                    if known:
                        save_alignment(db, known[0], alignment.model, alignment.tasks, _calls_of(alignment, reference))
        except sqlite3.Error as error:
            raise RunFileError(str(self.path), str(error)) from None
        return tuple(file for file, row in rows.items() if row is None)

    def _row(self, file: str) -> int | None:
        """The run's own number of a file, by its path as written, else as resolved."""
        if file in self.paths:
            return int(self.paths[file])
        resolved = Path(file).resolve()
        return next((int(row) for path, row in self.paths.items() if Path(path).resolve() == resolved), None)


def _files_of(alignment: Alignment) -> tuple[str, ...]:
    return alignment.model.files or (alignment.model.file,)


def _calls_of(alignment: Alignment, reference: Reference) -> dict[str, list[ReferenceCall]]:
    """The reference's calls of each aligned task."""
    return {
        task.id: [
            ReferenceCall(call.index, call.step, call.position, call.name, call.signature)
            for call in reference.tasks[task.id].calls
        ]
        for task in alignment.tasks
    }


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
