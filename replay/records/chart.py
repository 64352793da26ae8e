"""What a chart shows, as plain rows and columns: the same numbers that are drawn are written as data."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import model_validator

from replay.records.base import Record
from replay.records.verdict import Certainty

CHART_FORMAT: Final = "replay.figure"
CHART_VERSION: Final = 1

FEW: Final = 5
"""Calls or tasks below which a share or a mean is drawn as one that rests on few."""

Cells: TypeAlias = tuple[tuple[float | None, ...], ...]
"""A value for each row and column; None where there is none."""


class Chart(Record):
    """The numbers of a chart."""

    figure: str
    """Its name, as `replay figure` takes it."""
    title: str
    measure: str
    """What the values are, e.g. `share of the judged calls`."""
    row_name: str
    """What a row is: `model`, `tool`, `type`."""
    column_name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Cells
    low: Cells | None = None
    """The lower ends of the intervals."""
    high: Cells | None = None
    interval: str | None = None
    """What the intervals are, e.g. `95 %, Wilson`."""
    counts: tuple[tuple[int | None, ...], ...] | None = None
    """How many calls stand behind each value."""
    totals: tuple[int, ...] | None = None
    """What the values of each row are shares of."""
    cell_totals: tuple[tuple[int, ...], ...] | None = None
    """What each value is a share of, or how many tasks its mean is over, where that differs within a row."""
    notes: tuple[str, ...] = ()
    """What a reader must know, a sentence each."""
    certainties: dict[Certainty, int] | None = None
    """How many verdicts of the whole run are how certain; `fallback` rests on nothing. None where no run is known."""

    def ends(self, row: int, column: int = 0) -> tuple[float | None, float | None]:
        """The interval of a value; None where there is none."""
        low, high = ((None if cells is None else cells[row][column]) for cells in (self.low, self.high))
        return low, high

    def rests_on_few(self, row: int, column: int) -> bool:
        """Whether a value rests on so little that it must not look like one that rests on much."""
        total = self.cell_totals[row][column] if self.cell_totals else self.totals[row] if self.totals else FEW
        return 0 < total < FEW

    @model_validator(mode="after")
    def _is_rectangular(self) -> Chart:
        for cells in (self.values, self.low, self.high, self.counts, self.cell_totals):
            if cells is not None and (
                len(cells) != len(self.rows) or any(len(row) != len(self.columns) for row in cells)
            ):
                raise ValueError("there is not a cell for each row and column")
        return self


class ChartDocument(Chart):
    """What `replay figure --data json` prints."""

    format: Literal["replay.figure"] = CHART_FORMAT
    version: Literal[1] = CHART_VERSION
