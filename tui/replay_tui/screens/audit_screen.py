"""The audit: how much of each score is the model's, and the tasks and calls behind each number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Static

from replay.analysis.audit import audit
from replay.analysis.spending import spending_of
from replay.errors import MissingExtraError, UsageError
from replay.records.audit import Audit, AuditedRun
from replay.reports.audit import NUMBERS
from replay.reports.basis import spending_line
from replay.runfile import Run
from replay.runfile.trajectory_queries import trajectory_places
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.pages.audit_pages import run_page
from replay_tui.rendering import plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.widgets.audit_tables import AuditedRuns, AuditTable, MendsTable
from replay_tui.widgets.row_list import RowList
from replay_tui.widgets.text_page import TextPage


class AuditScreen(RunScreen):
    """How much of a score is the model's?"""

    NAME = "audit"
    FIRST = "AuditTable"
    PURPOSE = (
        "How much of each score is the model's, as `replay audit` tells it. Arrow keys choose a number; below stand "
        "the tasks that it counts; Enter goes to them, and from a task to its first call that the environment failed."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "mends", "What to mend", tooltip="Go to what to mend in the benchmark"),
    ]

    table = getters.query_one(AuditTable)
    runs = getters.query_one(AuditedRuns)
    mends = getters.query_one(MendsTable)

    def __init__(self) -> None:
        super().__init__()
        self._audit: Audit | None = None

    def compose_body(self) -> ComposeResult:
        """The scores, what to mend, the tasks behind a number, and all about one of them."""
        with Container(id="body"):
            yield AuditTable(id="scores")
            yield Static(id="spending", markup=False)
            yield MendsTable(id="mends")
            yield AuditedRuns(id="runs")
            yield TextPage(id="page")

    def reload(self) -> None:
        """Audit the run again."""
        self.table.border_subtitle = plain("auditing …")
        self.ask(_audited, self._show_audit)

    def _show_audit(self, audited: tuple[Audit | None, str]) -> None:
        read, spent = audited
        self._audit = self.runs.audit = read
        models = (*read.models, read.benchmark) if read else ()
        self.table.border_subtitle = plain("faults by how they bear on their tasks: on the path, recovered, ...")
        self.table.styles.height = max(4, len(models) + 3)
        self.table.show(models)
        cost = self.query_one("#spending", Static)
        cost.update(spent)
        cost.display = bool(spent)
        self.mends.show(read.mends if read else ())
        if read is None:
            self.runs.show(())
        self._show_number()

    @on(RowList.Moved, "#scores")
    def _show_number(self) -> None:
        """The tasks behind a number."""
        model = self.table.selected
        if self._audit is not None and model is not None:
            name = None if model is self._audit.benchmark else model.model
            title = f"{model.model}: {NUMBERS[self.table.number]}"
            self._show_runs(title, self._audit.behind(self.table.number, name))

    def _show_runs(self, title: str, runs: Sequence[AuditedRun]) -> None:
        self.runs.border_title = plain(one_line(f"{title} ({len(runs):,})", 80))
        self.runs.show(runs)
        self._show_run()

    @on(RowList.Moved, "#runs")
    def _show_run(self) -> None:
        """All about another run of a task."""
        run, page = self.runs.selected, self.query_one(TextPage)
        if self._audit is None or run is None:
            page.show(lambda _width, _styles: [])
            return
        page.border_title = plain(one_line(run.trajectory, 60))
        page.show(partial(run_page, run, self._audit.faults_of(run)))

    @on(RowList.Moved, "#mends")
    def mend_moved(self) -> None:
        """Something else to mend: the tasks that it leaves undecided."""
        mend = self.mends.selected
        if self._audit is not None and mend is not None:
            self._show_runs(f"{mend.name}, {mend.reason}", self._audit.behind_mend(mend))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The tasks are those of the table that has the focus."""
        if event.widget.id == "mends":
            self.mend_moved()
        elif event.widget.id == "scores":
            self._show_number()

    @on(RowList.Chosen, "#scores")
    @on(RowList.Chosen, "#mends")
    def number_chosen(self) -> None:
        """Go to the tasks that the number counts."""
        if self.runs.row_count():
            self.set_focus(self.runs)

    @on(RowList.Chosen, "#runs")
    def run_chosen(self) -> None:
        """Open the trajectory, at the first call that the environment failed."""
        run = self.runs.selected
        if self._audit is None or run is None:
            return
        first = next(iter(self._audit.faults_of(run)), None)
        file, trajectory = (first.call.file, first.call.trajectory) if first else (run.file, run.trajectory)
        places = trajectory_places(self.open_run.run)
        row = next((place.row for place in places if (place.file, place.trajectory) == (file, trajectory)), None)
        if row is not None:
            self.app.post_message(ShowTrajectory(row, first.call.call if first else None))

    def action_mends(self) -> None:
        """Go to what to mend."""
        self.set_focus(self.mends)


def _audited(run: Run) -> tuple[Audit | None, str]:
    """The audit of a run and a line on what its calls took; where there is none, the reason if it is worth telling."""
    try:
        return audit(run), spending_line(spending_of(run))
    except UsageError:  # there is nothing to audit yet
        return None, ""
    except MissingExtraError as error:
        return None, str(error)
