"""Every model side by side: sorted by any measure, and stratum by stratum."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from replay.analysis.compare import CompareSettings, compare_models, sorted_models, strata_names
from replay.errors import MissingExtraError, UsageError
from replay.records.comparison import ModelComparison
from replay.runfile import Run
from replay.runfile.filters import filter_value
from replay.safety.text import one_line
from replay_tui.browser import ShowCalls
from replay_tui.pages.comparison_pages import model_page
from replay_tui.rendering import plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.widgets.comparison_tables import ModelsTable
from replay_tui.widgets.row_list import RowList
from replay_tui.widgets.text_page import TextPage


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
