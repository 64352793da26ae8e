"""The calls of a run as comma-separated values, a row a call, with stable columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from replay.reports import Selection
from replay.reports.scope import scope_of
from replay.runfile import Run, call_rows
from replay.safety.text import csv_line

_OF_CALLS: Final = (
    "file", "model", "trajectory", "call", "tool", "outcome", "reason", "rule", "evidence", "certainty", "recorded",
    "replayed", "drift", "divergence", "caused_by", "gap", "message",
)  # fmt: skip
COLUMNS: Final = (*_OF_CALLS, "fault")
"""In this order; new ones are only ever added at the end."""
REPORT_COLUMNS: Final = (*_OF_CALLS, "finding", "explanation", "suggestion", "certainty_of_finding", "fault")
"""Those of `classify --csv`, with the most telling finding of the call."""


def write_csv(run: Run, out: TextIO, files: Sequence[int] | None = None) -> None:
    """Write a header and a row a call."""
    out.write(csv_line(COLUMNS))
    for row in call_rows(run, files=files):
        out.write(csv_line(getattr(row, column) for column in COLUMNS))


def render(run: Run, selection: Selection) -> Iterator[str]:
    """The calls of the selection, a row each, with their most telling finding."""
    scope = scope_of(run, selection)
    yield csv_line(REPORT_COLUMNS)
    for diagnosis in scope.diagnoses():
        for row in scope.rows(diagnosis):
            finding = next(iter(diagnosis.calls.get(row.call, ())), None)
            told = (finding.kind, finding.sentence, finding.suggestion, finding.certainty) if finding else ("",) * 4
            yield csv_line([*(getattr(row, column) for column in _OF_CALLS), *told, row.fault])
