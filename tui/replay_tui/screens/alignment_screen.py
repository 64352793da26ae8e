"""Prediction beside reference, task by task."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widgets import Tabs

from replay.alignment.tasks import sign
from replay.records.alignment import AlignedModel
from replay.runfile import alignment_queries, trajectory_queries
from replay.runfile.run_command import shown_path
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.pages.alignment_pages import TaskFacts, metrics_page, pairs_page
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import Palette
from replay_tui.widgets.alignment_tables import TaskTable
from replay_tui.widgets.row_list import RowList
from replay_tui.widgets.tabs import LineTabs
from replay_tui.widgets.text_page import TextPage

_PANELS = {"pairs": "Pairs", "metrics": "How the metrics came about"}


class AlignmentScreen(RunScreen):
    """How near to the reference?"""

    NAME = "alignment"
    FIRST = "TaskTable"
    PURPOSE = "The calls of a task beside those of the reference: matched, missing and extra ones."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "model(1)", "Next model", tooltip="The tasks of the next model"),
        Binding("M", "model(-1)", "Model before", show=False, tooltip="The tasks of the model before"),
        Binding("i", "metrics", "Pairs/metrics", tooltip="The pairs, or how each metric came about"),
    ]

    table = getters.query_one(TaskTable)
    _panels = getters.query_one("#panels", LineTabs)

    def __init__(self) -> None:
        super().__init__()
        self._models: dict[int, AlignedModel] = {}
        self._shown = 0

    def compose_body(self) -> ComposeResult:
        """The tasks, and the pairs of one of them."""
        with Container(id="body"):
            yield TaskTable(id="tasks")
            with Vertical(id="pairs"):
                yield LineTabs(_PANELS, id="panels")
                yield TextPage(id="page")

    def reload(self) -> None:
        """Read what alignments there are."""
        self._models = alignment_queries.aligned_models(self.open_run.connection)
        self._shown = min(self._shown, max(0, len(self._models) - 1))
        self._show_model()

    def _show_model(self) -> None:
        if not self._models:
            self.table.show_tasks(0, ())
            self.table.border_title = plain("Alignment")
            self.query_one(TextPage).show(partial(_nothing, run=self.open_run.path))
            return
        file, model = list(self._models.items())[self._shown]
        self.table.show_tasks(file, alignment_queries.task_names(self.open_run.connection, file))
        self.table.border_title = plain(f"{one_line(model.model, 40)} · model {self._shown + 1} of {len(self._models)}")
        self.table.border_subtitle = plain(f"average {model.average_score:.3f} · recall {model.aggregate.recall:.3f}")
        self._show_task()

    @on(RowList.Moved, "#tasks")
    @on(Tabs.TabActivated, "#panels")
    def _show_task(self) -> None:
        """Another task, or the other panel."""
        task = self.table.selected_task
        if task is None or not self._models:
            return
        model, connection = self._model, self.open_run.connection
        row = alignment_queries.trajectory_of(connection, model, task.id)
        stored = trajectory_queries.stored_trajectory(connection, row) if row is not None else None
        facts = TaskFacts(
            model, task, alignment_queries.reference_calls(connection, task.id), sign(stored.record) if stored else None
        )
        page = metrics_page if self._panels.current == "metrics" else pairs_page
        self.query_one(TextPage).show(partial(page, facts))

    @on(RowList.Chosen, "#tasks")
    def chosen(self) -> None:
        """Open the trajectory."""
        row = self.trajectory_shown()
        if row is not None:
            self.app.post_message(ShowTrajectory(row))

    def trajectory_shown(self) -> int | None:
        """The trajectory of the task, where the run holds it."""
        task = self.table.selected_task
        if task is None or not self._models:
            return None
        return alignment_queries.trajectory_of(self.open_run.connection, self._model, task.id)

    def show_trajectory(self, row: int) -> None:
        """The task of a trajectory that was looked at, in the alignment of its model."""
        self.reload_if_changed()
        stored = trajectory_queries.stored_trajectory(self.open_run.connection, row)
        file = alignment_queries.file_of(self._models, stored.path) if stored is not None else None
        if stored is None or file is None:
            return
        self._shown = list(self._models).index(file)
        self._show_model()
        if not self.table.select(stored.record.id):
            self.app.notify(f"{one_line(stored.record.id, 40)} has no reference", timeout=3, markup=False)
        self._show_task()

    @property
    def _model(self) -> AlignedModel:
        return list(self._models.values())[self._shown]

    def action_model(self, by: int) -> None:
        """Another model."""
        if self._models:
            self._shown = (self._shown + by) % len(self._models)
            self._show_model()

    def action_metrics(self) -> None:
        """The pairs, or how the metrics came about."""
        self._panels.action_next_tab()


def _nothing(width: int, styles: Palette, run: Path) -> list[Row]:
    writer = Writer(width, styles)
    writer.prose("This run has no alignment yet. Make one with:")
    of_run = f"--run {shlex.quote(shown_path(str(run)))}"
    writer.code(f"replay align results/*.json --reference REFERENCE.json {of_run}", styles.strong)
    return writer.rows
