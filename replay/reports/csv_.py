"""The calls of a run as comma-separated values, a row a call, with stable columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from replay.records.files import CallRow
from replay.reports import Selection
from replay.reports.csv_cell import safe_cell
from replay.reports.report_scope import scope_of
from replay.runfile import Run, call_rows

COLUMNS: Final = (
    "file",
    "model",
    "trajectory",
    "call",
    "tool",
    "outcome",
    "reason",
    "rule",
    "evidence",
    "certainty",
    "recorded",
    "replayed",
    "drift",
    "divergence",
    "caused_by",
    "gap",
    "message",
)
"""In this order; new ones are only ever added at the end."""


def write_csv(run: Run, out: TextIO, files: Sequence[int] | None = None) -> None:
    """Write a header and a row a call."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in call_rows(run, files=files):
        writer.writerow([_cell(row, column) for column in COLUMNS])


def _cell(row: CallRow, column: str) -> str:
    """The value as text; what a spreadsheet would take for a formula is marked as text."""
    return safe_cell(getattr(row, column))


REPORT_COLUMNS: Final = (*COLUMNS, "finding", "explanation", "suggestion", "certainty_of_finding")
"""Those of `classify --csv`, then the most telling finding of the call."""


def render(run: Run, selection: Selection) -> Iterator[str]:
    """The calls of the selection, a row each, with their most telling finding."""
    scope = scope_of(run, selection)
    yield _row(REPORT_COLUMNS)
    for diagnosis in scope.diagnoses():
        for row in scope.rows(diagnosis):
            finding = next(iter(diagnosis.calls.get(row.call, ())), None)
            finding_values = (
                (finding.kind, finding.sentence, finding.suggestion, finding.certainty) if finding else ("", "", "", "")
            )
            yield _row([*(_cell(row, column) for column in COLUMNS), *map(safe_cell, finding_values)])


def _row(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
