"""The models side by side: a row a model, a column a measure, or a column a stratum of one measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.message import Message

from replay.records import Outcome
from replay.records.comparison import ComparedModel, Figure, Measure, ModelComparison
from replay.reports.compare import shown
from replay.runfile.compare_queries import TaskPair
from replay.safety.text import one_line
from replay_tui.rendering import Cell, Column
from replay_tui.widgets.row_list import RecordList

BY_NAME = "model"
_MIN_FIGURE, _MAX_STRATUM = 7, 18
_STRATUM = "stratum "
"""Before the key of a stratum's column, which may have a name like a measure's."""
_BEFORE = 2
"""Columns before the figures: the name, and the tasks."""


class ModelsTable(RecordList[ComparedModel]):
    """Any number of models; the measure that they are sorted by comes first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next measure; the best models come first"),
        Binding("S", "reverse", "Reverse", show=False, tooltip="Sort the other way round"),
    ]
    BORDER_TITLE = "Models"
    EMPTY = "no models yet; replay classify results/*.json adds them"

    class Sorted(Message):
        """Another order is wanted."""

        def __init__(self, measure: str, *, reverse: bool) -> None:
            super().__init__()
            self.measure, self.reverse = measure, reverse

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._columns: tuple[tuple[str, str], ...] = ()
        """Key and title of every column of figures, the one that is sorted by first."""
        self._figures: dict[tuple[str, str], tuple[Measure, Figure]] = {}
        self._measures: tuple[str, ...] = ()
        self.order, self.reverse = BY_NAME, False

    def show_comparison(self, comparison: ModelComparison, models: Sequence[ComparedModel], *, reverse: bool) -> None:
        """Show a comparison.

        Args:
            comparison: its strata become the columns where it has some.
            models: its models in the order in which they stand.
            reverse: whether that is the worst first.
        """
        selected = self.selected
        self.order, self.reverse = comparison.sorted_by, reverse
        self._measures = (*(measure.id for measure in comparison.measures), BY_NAME)
        measures = {measure.id: measure for measure in comparison.measures}
        if comparison.strata is None:
            ordered = sorted(comparison.measures, key=lambda measure: measure.id != self.order)
            self._columns = tuple((measure.id, measure.label) for measure in ordered)
            self._figures = {
                (model.model, name): (measures[name], figure)
                for model in models
                for name, figure in model.figures.items()
            }
        else:
            strata = ((_STRATUM + name, one_line(name, _MAX_STRATUM)) for name in comparison.strata.names)
            self._columns = ((comparison.metric, "all"), *strata)
            whole = [(model.model, comparison.metric, model.figures) for model in models]
            parts = [(row.model, _STRATUM + row.stratum, row.figures) for row in comparison.strata.rows]
            self._figures = {
                (model, name): (measures[comparison.metric], figures[comparison.metric])
                for model, name, figures in whole + parts
                if comparison.metric in figures
            }
        self.show(models)
        rows = (row for row, model in enumerate(models) if selected is not None and model.model == selected.model)
        self.cursor = next(rows, 0)

    def columns(self, width: int) -> Sequence[Column]:
        """As many figures as there is room for."""
        columns = [
            Column("model", 12, 1, key=BY_NAME, style=self._title_style(BY_NAME)),
            Column("tasks", 5, right=True),
        ]
        used = sum(column.min_width + 1 for column in columns)
        for name, title in self._columns:
            mark = "" if name != self.order else " ▲" if self.reverse else " ▼"
            size = max(len(title) + len(mark), _MIN_FIGURE)
            if used + size + 1 > width:
                break
            used += size + 1
            columns.append(Column(title + mark, size, right=True, key=name, style=self._title_style(name)))
        return columns

    def _title_style(self, name: str) -> Style | None:
        return self.styles_of_theme.accent if name == self.order else None

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self.records[row], self.styles_of_theme
        cells = [Cell(model.model), Cell(str(model.tasks), styles.dim)]
        for name, _ in self._columns[: len(widths) - _BEFORE]:
            known = self._figures.get((model.model, name))
            style = styles.strong if name == self.order else styles.text if known else styles.faint
            cells.append(Cell(shown(*known) if known else "-", style))
        return cells

    def action_sort(self, by: int) -> None:
        """Sort by another measure."""
        if self._measures:
            number = self._measures.index(self.order) if self.order in self._measures else 0
            self._sort(self._measures[(number + by) % len(self._measures)])

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.post_message(self.Sorted(self.order, reverse=not self.reverse))

    def _sort(self, measure: str) -> None:
        self.post_message(self.Sorted(measure, reverse=measure == self.order and not self.reverse))

    def title_clicked(self, key: str) -> None:
        """Sort by the column."""
        if key in self._measures:
            self._sort(key)


class TaskPairs(RecordList[TaskPair]):
    """A row a task."""

    EMPTY = "no task in common; a and b choose other sides"

    def columns(self, width: int) -> Sequence[Column]:
        """Name, failures on both sides, what changed."""
        return (
            Column("", 8),
            Column("task", 14, 1),
            Column("failed a", 9, right=True),
            Column("failed b", 9, right=True),
            Column("changed", 11, right=True),
        )

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One task."""
        pair, styles = self.records[row], self.styles_of_theme
        word, style = "same", styles.dim
        if pair.gain > 0:
            word, style = "▲ better", styles.outcome(Outcome.SUCCESS)
        elif pair.gain < 0:
            word, style = "▼ worse", styles.outcome(Outcome.INVALID_ARGUMENTS)
        failed = [Cell(f"{wrong}/{calls}") for wrong, calls in zip(pair.failed, pair.calls, strict=True)]
        changed = Cell(str(pair.changed), styles.strong if pair.changed else styles.faint)
        return (Cell(word, style), Cell(pair.name), *failed, changed)
