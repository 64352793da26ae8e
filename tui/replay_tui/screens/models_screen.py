"""Every model side by side: sorted by any measure, and stratum by stratum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message

from replay.analysis.compare import CompareSettings, compare_models, sorted_models, strata_names
from replay.charts.style import value_text
from replay.errors import MissingExtraError, UsageError
from replay.records.comparison import ComparedModel, Figure, Measure, ModelComparison
from replay.reports.compare import difference_text, interval_text, shown
from replay.runfile import Run
from replay.runfile.filters import filter_value
from replay.safety.text import one_line
from replay_tui.browser import ShowCalls
from replay_tui.rendering import Cell, Column, fitted, plain, told_apart
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import Palette
from replay_tui.widgets.row_list import RecordList, RowList
from replay_tui.widgets.text_page import Row, TextPage, Writer

BY_NAME = "model"
_MIN_FIGURE, _MAX_STRATUM = 7, 18
_STRATUM = "stratum "
"""Before the key of a stratum's column, which may have a name like a measure's."""
_BEFORE = 2
"""Columns before the figures: the name, and the tasks."""
_NAME = 20
_MAX_DIFFERENCES = 20


class ModelsTable(RecordList[ComparedModel]):
    """Any number of models; the measure that they are sorted by comes first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next measure; the best models come first"),
        Binding("S", "reverse", "Reverse", show=False, tooltip="Sort the other way round"),
    ]
    BORDER_TITLE = "Models"
    EMPTY = "no models yet; replay classify results/*.json adds them"

    @dataclass
    class Sorted(Message):
        """Another order is wanted."""

        measure: str
        reverse: bool

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
        name = told_apart(model.model, (other.model for other in self.records), widths[0])
        cells = [Cell(name), Cell(str(model.tasks), styles.dim)]
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


def model_page(comparison: ModelComparison, model: ComparedModel, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    metric = next((measure for measure in comparison.measures if measure.id == comparison.metric), None)
    if comparison.strata is not None and metric is not None:
        writer.heading(f"{metric.label} by {comparison.strata.by}", "with 95 % intervals")
        figures = {row.stratum: row.figures for row in comparison.strata.rows if row.model == model.model}
        for name in comparison.strata.names:
            _figure(writer, name, metric, figures.get(name, {}).get(comparison.metric))
    _differences(writer, comparison, model, metric)
    writer.heading("Figures", "with 95 % intervals; n: calls of shares, tasks of means")
    for measure in comparison.measures:
        _figure(writer, measure.label, measure, model.figures.get(measure.id))
        spread = (model.spread or {}).get(measure.id)
        if spread is not None:
            runs = ", ".join(value_text(measure.kind, value) for value in spread.values[:8])
            text = f"{len(spread.values)} runs: {runs}; standard deviation {value_text(measure.kind, spread.deviation)}"
            writer.prose(text, styles.dim, indent=_NAME + 1)
    if comparison.notes:
        writer.heading("Notes")
        for note in comparison.notes:
            writer.prose(note)
    return writer.rows


def _figure(writer: Writer, name: str, measure: Measure, figure: Figure | None) -> None:
    style = writer.styles.text if figure is not None else writer.styles.faint
    lead = Segment(f"{fitted(one_line(name), _NAME)} ", writer.styles.dim)
    writer.rows.append([lead, Segment(interval_text(measure, figure), style)])


def _differences(writer: Writer, comparison: ModelComparison, model: ComparedModel, metric: Measure | None) -> None:
    pairs = [pair for pair in comparison.differences if model.model in (pair.first, pair.second)]
    if metric is None or not pairs:
        return
    sure = [pair for pair in pairs if pair.beyond_chance]
    writer.heading(f"Differences in {metric.label}", f"{len(sure)} of {len(pairs)} beyond chance, paired over tasks")
    for pair in sure[:_MAX_DIFFERENCES]:
        writer.prose(difference_text(pair, metric))
    if len(sure) > _MAX_DIFFERENCES:
        writer.prose(f"and {len(sure) - _MAX_DIFFERENCES} more", writer.styles.dim)


class ModelsScreen(RunScreen):
    """Which model is best, at what, and is that more than chance?"""

    NAME = "models"
    FIRST = "ModelsTable"
    PURPOSE = (
        "All models side by side, as `replay compare` has them: a row a model, sorted by any measure, or one measure "
        "stratum by stratum. Enter lists the calls of the model."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "strata(1)", "Strata", tooltip="One measure by task type, by server, ...; or all measures"),
        Binding("I", "strata(-1)", "Strata before", show=False, tooltip="The strata before these"),
    ]

    table = getters.query_one(ModelsTable)

    def __init__(self) -> None:
        super().__init__()
        self._comparison: ModelComparison | None = None
        self._by: str | None = None
        self._sort: str | None = None
        self._reverse = False

    def compose_body(self) -> ComposeResult:
        """The models, and all about one of them."""
        with Container(id="body"):
            yield ModelsTable(id="models")
            yield TextPage(id="page")

    def reload(self) -> None:
        """Compare the models again."""
        self.table.border_subtitle = plain("comparing …")
        self.ask(partial(_compared, settings=CompareSettings(sort=self._sort, by=self._by)), self._take)

    def _take(self, compared: ModelComparison | MissingExtraError | None) -> None:
        if isinstance(compared, ModelComparison):
            self._comparison = compared
            self._show_models()
            return
        if compared is not None:
            self.app.notify(str(compared), severity="error", markup=False)
        self.table.border_subtitle = plain("")
        self.table.show(self.table.records)

    def _show_models(self) -> None:
        comparison = self._comparison
        if comparison is None:
            return
        models = sorted_models(comparison.models, comparison.sorted_by)
        self.table.show_comparison(
            comparison, list(reversed(models)) if self._reverse else models, reverse=self._reverse
        )
        labels = {measure.id: measure.label for measure in comparison.measures}
        metric = labels.get(comparison.metric, comparison.metric)
        self.table.border_title = plain(f"{metric} by {comparison.strata.by}" if comparison.strata else "Models")
        count = f"{len(models)} {'model' if len(models) == 1 else 'models'}"
        by = labels.get(comparison.sorted_by, comparison.sorted_by)
        self.table.border_subtitle = plain(f"{count}, {comparison.common_tasks:,} tasks in common · by {by}")
        self._show_model()

    @on(RowList.Moved, "#models")
    def _show_model(self) -> None:
        """All about another model."""
        model, page = self.table.selected, self.query_one(TextPage)
        if self._comparison is None or model is None:
            page.show(lambda _width, _styles: [])
            return
        page.border_title = plain(one_line(model.model, 60))
        page.show(partial(model_page, self._comparison, model))

    @on(RowList.Chosen, "#models")
    def chosen(self) -> None:
        """The calls of the model."""
        if (model := self.table.selected) is not None:
            self.app.post_message(ShowCalls(f"model:{filter_value(model.model)}"))

    @on(ModelsTable.Sorted)
    def sort_models(self, message: ModelsTable.Sorted) -> None:
        """Another order: at once, and then what differs beyond chance in that measure."""
        self._reverse = message.reverse
        if self._comparison is None or message.measure == self._comparison.sorted_by:
            self._show_models()
            return
        self._sort = message.measure
        if self._by is None:
            self._comparison = self._comparison.model_copy(update={"sorted_by": message.measure})
            self._show_models()
        self.reload()

    def action_strata(self, by: int) -> None:
        """Other strata, or none."""
        choices = [None, *strata_names(self.open_run.run)]
        number = choices.index(self._by) if self._by in choices else 0
        self._by = choices[(number + by) % len(choices)]
        self.reload()


def _compared(run: Run, settings: CompareSettings) -> ModelComparison | MissingExtraError | None:
    try:
        return compare_models(run, settings)
    except UsageError:  # there is nothing to compare yet, or not by this any more
        return None
    except MissingExtraError as error:
        return error
