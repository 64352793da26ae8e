"""The models side by side: a row a model, a column a measure, or a column a stratum of one measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from replay.records.model_comparison import ComparedModel, Figure, Measure, ModelComparison
from replay.reports.compare import shown
from replay.safety.text import one_line
from replay_tui.rendering import Cell, Column
from replay_tui.widgets.row_list import RowList

BY_NAME = "model"
_MIN_FIGURE, _MAX_STRATUM = 7, 18
_STRATUM = "stratum "
"""Before the key of a stratum's column, which may have a name like a measure's."""
_BEFORE = 2
"""Columns before the figures: the name, and the tasks."""


class ModelsTable(RowList):
    """Any number of models; the measure that they are sorted by comes first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next measure; the best models come first"),
        Binding("S", "reverse", "Reverse", show=False, tooltip="Sort the other way round"),
    ]
    EMPTY = "no models yet; replay classify results/*.json adds them"

    class Sorted(Message):
        """Another order is wanted."""

        def __init__(self, measure: str, *, reverse: bool) -> None:
            super().__init__()
            self.measure, self.reverse = measure, reverse

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._models: tuple[ComparedModel, ...] = ()
        self._columns: tuple[tuple[str, str], ...] = ()
        """Key and title of every column of figures, the one that is sorted by first."""
        self._figures: dict[tuple[str, str], tuple[Measure, Figure]] = {}
        self._measures: tuple[str, ...] = ()
        self.order, self.reverse = BY_NAME, False

    def show(self, found: ModelComparison, models: Sequence[ComparedModel], *, reverse: bool) -> None:
        """Show a comparison.

        Args:
            found: the comparison; its strata become the columns where it has some.
            models: its models in the order in which they stand.
            reverse: whether that is the worst first.
        """
        selected = self.selected
        self._models, self.order, self.reverse = tuple(models), found.sorted_by, reverse
        self._measures = (*(measure.id for measure in found.measures), BY_NAME)
        measures = {measure.id: measure for measure in found.measures}
        if found.strata is None:
            ordered = sorted(found.measures, key=lambda measure: measure.id != self.order)
            self._columns = tuple((measure.id, measure.label) for measure in ordered)
            self._figures = {
                (one.model, name): (measures[name], figure) for one in models for name, figure in one.figures.items()
            }
        else:
            strata = ((_STRATUM + name, one_line(name, _MAX_STRATUM)) for name in found.strata.names)
            self._columns = ((found.metric, "all"), *strata)
            whole = [(one.model, found.metric, one.figures) for one in models]
            parts = [(row.model, _STRATUM + row.stratum, row.figures) for row in found.strata.rows]
            self._figures = {
                (model, name): (measures[found.metric], figures[found.metric])
                for model, name, figures in whole + parts
                if found.metric in figures
            }
        places = (place for place, one in enumerate(models) if selected is not None and one.model == selected.model)
        self.cursor = next(places, 0)
        self.refresh_rows()

    @property
    def selected(self) -> ComparedModel | None:
        """The model under the cursor."""
        return self._models[self.cursor] if self.cursor < len(self._models) else None

    def row_count(self) -> int:
        """How many there are."""
        return len(self._models)

    def columns(self, width: int) -> Sequence[Column]:
        """As many figures as there is room for."""
        found = [Column("model", 12, 1, key=BY_NAME, style=self._title_style(BY_NAME)), Column("tasks", 5, right=True)]
        used = sum(column.min_width + 1 for column in found)
        for name, title in self._columns:
            mark = "" if name != self.order else " ▲" if self.reverse else " ▼"
            size = max(len(title) + len(mark), _MIN_FIGURE)
            if used + size + 1 > width:
                break
            used += size + 1
            found.append(Column(title + mark, size, right=True, key=name, style=self._title_style(name)))
        return found

    def _title_style(self, name: str) -> Style | None:
        return self.styles_of_theme.accent if name == self.order else None

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self._models[row], self.styles_of_theme
        cells = [Cell(model.model), Cell(str(model.tasks), styles.dim)]
        for name, _ in self._columns[: len(widths) - _BEFORE]:
            known = self._figures.get((model.model, name))
            style = styles.strong if name == self.order else styles.text if known else styles.faint
            cells.append(Cell(shown(*known) if known else "-", style))
        return cells

    def action_sort(self, by: int) -> None:
        """Sort by another measure."""
        if self._measures:
            place = self._measures.index(self.order) if self.order in self._measures else 0
            self._sort(self._measures[(place + by) % len(self._measures)])

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.post_message(self.Sorted(self.order, reverse=not self.reverse))

    def _sort(self, measure: str) -> None:
        self.post_message(self.Sorted(measure, reverse=measure == self.order and not self.reverse))

    def on_click(self, event: events.Click) -> None:
        """A click on a column's title sorts by it."""
        offset, place = event.get_content_offset(self), self.column_at(event)
        if offset is None or offset.y != 0 or place is None:
            return
        key = self.columns(self.scrollable_content_region.width)[place].key
        if key in self._measures:
            self._sort(key)
        event.prevent_default()
