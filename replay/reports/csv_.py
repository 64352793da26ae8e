"""The calls of a run as comma-separated values, a row a call, with stable columns."""

from __future__ import annotations

import csv
from typing import Final, TextIO

from replay.records.files import CallRow
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

_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def write_csv(run: Run, out: TextIO) -> None:
    """Write a header and a row a call."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in call_rows(run):
        writer.writerow([_cell(row, column) for column in COLUMNS])


def _cell(row: CallRow, column: str) -> str:
    """The value as text; what a spreadsheet would take for a formula is marked as text."""
    value = getattr(row, column)
    text = "" if value is None else str(value).encode("utf-8", "replace").decode()
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
