"""The alignment metrics, a row a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.records.alignment import COLUMNS, AlignedModel
from replay_tui.rendering import Cell, Column, titled
from replay_tui.widgets.row_list import RowList

METRICS_IN_WORDS: Final = tuple(name.replace("_", " ") for name in COLUMNS)
METRICS_SHORT: Final = ("recall", "prec.", "arg.sim", "coher.", "order", "purity")
"""The metrics as titles of columns where there is little room."""


class ScoresTable(RowList):
    """Metrics over all tasks of a model; Enter opens the alignment."""

    EMPTY = "no alignment; replay align adds one"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = "Alignment"
        self._models: tuple[AlignedModel, ...] = ()

    def show(self, models: Sequence[AlignedModel]) -> None:
        """Show these."""
        self._models = tuple(models)
        self.refresh_rows()

    def row_count(self) -> int:
        """How many there are."""
        return len(self._models)

    def columns(self, width: int) -> Sequence[Column]:
        """The average first; then as many as there is room for."""
        words, short = (("average", *titles) for titles in (METRICS_IN_WORDS, METRICS_SHORT))
        shown = titled([words, short, short[: max(1, (width - 12) // 8)]], width - 16)
        return (Column("model", 10, 1), *(Column(name, max(7, len(name)), right=True) for name in shown))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self._models[row], self.styles_of_theme
        whole = model.aggregate
        scores = (
            model.average_score,
            *(getattr(whole, name) for name in COLUMNS),
        )
        shown = [Cell(f"{score:.3f}", styles.dim if number else styles.strong) for number, score in enumerate(scores)]
        return (Cell(model.model), *shown[: len(widths) - 1])
