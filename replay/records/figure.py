"""What a figure shows, as plain rows and columns: the same numbers that are drawn are written as data."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from pydantic import model_validator

from replay.records.base import Record

FIGURE_FORMAT: Final = "replay.figure"
FIGURE_VERSION: Final = 1

Cells: TypeAlias = tuple[tuple[float | None, ...], ...]
"""A value for each row and column; None where there is none."""


class FigureData(Record):
    """The numbers of a figure."""

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
    notes: tuple[str, ...] = ()
    """What a reader must know, a sentence each."""

    @model_validator(mode="after")
    def _is_rectangular(self) -> FigureData:
        for cells in (self.values, self.low, self.high, self.counts):
            if cells is not None and (
                len(cells) != len(self.rows) or any(len(row) != len(self.columns) for row in cells)
            ):
                raise ValueError("there is not a cell for each row and column")
        return self


class FigureDocument(FigureData):
    """What `replay figure --data json` prints."""

    format: Literal["replay.figure"] = FIGURE_FORMAT
    version: Literal[1] = FIGURE_VERSION
