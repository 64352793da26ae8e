"""The numbers of a figure as JSON or as comma-separated values."""

from __future__ import annotations

import csv
import io
import json
from typing import Final

from replay.records.figure import FIGURE_FORMAT, FIGURE_VERSION, FigureData
from replay.safety.redaction import Redactor
from replay.safety.text import printable

COLUMNS: Final = ("row", "column", "value", "low", "high", "count", "total")
"""A line a cell; new columns are only ever added at the end."""
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def data_json(data: FigureData) -> str:
    """`{"format": "replay.figure", "version": 1, ...}`."""
    document = {"format": FIGURE_FORMAT, "version": FIGURE_VERSION, **data.model_dump(mode="json")}
    return json.dumps(Redactor().json(document), ensure_ascii=True, indent=1) + "\n"


def data_csv(data: FigureData) -> str:
    """A header, and a line a cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, row_name in enumerate(data.rows):
        for column, column_name in enumerate(data.columns):
            cells = (
                cells[row][column] if cells is not None else None
                for cells in (data.values, data.low, data.high, data.counts)
            )
            total = data.totals[row] if data.totals is not None else None
            writer.writerow([_safe(row_name), _safe(column_name), *cells, total])
    return out.getvalue()


def _safe(name: str) -> str:
    """What a spreadsheet would take for a formula is marked as text."""
    text = printable(Redactor().text(name))
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
