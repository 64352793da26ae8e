"""Alignments for machines: JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from replay.alignment.aligner import Alignment
from replay.records.alignment import Aggregate, AlignedFile, AlignmentDocument, ReferenceFault, SweepRow
from replay.records.files import dump
from replay.safety.redaction import Redactor
from replay.safety.text import json_text

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


def to_json(
    alignments: Sequence[Alignment], faults: Sequence[ReferenceFault], sweeps: Mapping[str, Sequence[SweepRow]]
) -> str:
    """`{"format", "version", "models": [{"file", "model", "definitions", "aggregate", ..., "tasks"}], ...}`.

    Args:
        alignments: one a model.
        faults: what is wrong with the reference.
        sweeps: by first file; empty without `--sweep`.
    """
    document = AlignmentDocument(
        models=tuple(_with_tasks(alignment, sweeps.get(alignment.model.file)) for alignment in alignments),
        reference_faults=tuple(faults),
    )
    return json_text(Redactor().json(dump(document)))


def to_csv(alignments: Sequence[Alignment]) -> str:
    """Rows of four scopes: `all` (a model), `with-missing`, `type` and `task`."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for alignment in alignments:
        own = {"file": alignment.model.file, "model": alignment.model.model}
        writer.writerows({key: _safe(value) for key, value in (own | row).items()} for row in _rows(alignment))
    return text.getvalue()


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
        yield {"scope": "task", **scores, "num_ids": 1, "average_steps": task.steps} | {
            "average_calls": task.total_pred_calls
        }


def _with_tasks(alignment: Alignment, sweep: Sequence[SweepRow] | None) -> AlignedFile:
    model = alignment.model
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    return AlignedFile(**fields, sweep=None if sweep is None else tuple(sweep), tasks=alignment.tasks)


def _safe(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
