"""The audit: how much of each score is the model's, and the tasks and calls behind each number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from rich.segment import Segment
from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.reactive import reactive
from textual.widgets import Static

from replay.analysis.audit import audit
from replay.analysis.spending import spending_of
from replay.diagnosis.phrasing import counted, listed
from replay.errors import MissingExtraError, UsageError
from replay.records.audit import Audit, AuditedFault, AuditedModel, AuditedRun, Mend, Number
from replay.reports.audit import DOUBTS, NUMBERS, REPORTED, run_names
from replay.reports.basis import spending_line
from replay.runfile import Run
from replay.runfile.trajectory_queries import trajectory_places
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.rendering import Cell, Column, fitted, plain, titled, told_apart
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import Palette
from replay_tui.widgets.row_list import RecordList, RowList
from replay_tui.widgets.text_page import Row, TextPage, Writer

_SHORT: Final[dict[Number, str]] = {
    "runs": "runs",
    "passed": "pass",
    "lost": "lost",
    "undecided-lost": "?lost",
    "undecided-passed": "?won",
    "on-path": "path",
    "recovered": "rec.",
    "worked-around": "w.a.",
    "beside": "beside",
}
"""The numbers of a model, with their titles where there is little room."""
_BEFORE: Final = 3
"""Columns before the numbers: the name, the reported share and the supported interval."""


class AuditTable(RecordList[AuditedModel]):
    """A row a model, then all of them; the number under the cursor leads to its tasks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "number(-1)", "Left", show=False, tooltip="The number to the left"),
        Binding("right,l", "number(1)", "Right", show=False, tooltip="The number to the right"),
    ]
    BORDER_TITLE = "Scores, and what the evidence supports"
    EMPTY = "nothing to audit; replay classify results/*.json adds trajectories"
    column = reactive(0)
    """The number that the cursor is on."""

    @property
    def number(self) -> Number:
        """Which number it is."""
        return list(_SHORT)[self.column]

    def columns(self, width: int) -> Sequence[Column]:
        """Name, reported, supported, and the numbers."""
        titles = titled([[NUMBERS[number] for number in _SHORT], list(_SHORT.values())], width - 33)
        least = (Column("model", 10, 1), Column("score", 6, right=True), Column("supported", 10, right=True))
        return (*least, *(Column(title, max(4, len(title)), right=True) for title in titles))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self.records[row], self.styles_of_theme
        reported = "–" if model.reported is None else f"{model.reported:.1%}"
        supported = "–" if model.supported is None else "–".join(f"{100 * end:.1f}" for end in model.supported)
        counts = (
            *(model.runs, model.passed, model.lost_by_model, model.undecided_lost, model.undecided_passed),
            *model.faults.values(),
        )
        numbers = [Cell(f"{count:,}", styles.strong if count else styles.faint) for count in counts]
        if row == self.cursor and self.has_focus:
            text = fitted(numbers[self.column].text, widths[_BEFORE + self.column], right=True)
            numbers[self.column] = Cell("", segments=(Segment(text, styles.strong + styles.cell),))
        name = told_apart(model.model, (other.model for other in self.records), widths[0])
        return (Cell(name), Cell(reported, styles.strong), Cell(supported), *numbers)

    def watch_column(self) -> None:
        """Another number is another list of tasks."""
        self.refresh()
        self.post_message(self.Moved(self))

    def action_number(self, by: int) -> None:
        """Go to another number of the row."""
        self.column = max(0, min(len(_SHORT) - 1, self.column + by))

    def column_clicked(self, column: int) -> None:
        """A click on a number selects it."""
        self.column = max(0, column - _BEFORE)


class MendsTable(RecordList[Mend]):
    """What to mend in the benchmark, by what it would settle."""

    BORDER_TITLE = "What to mend"
    EMPTY = "nothing: no lost task is undecided"

    def columns(self, width: int) -> Sequence[Column]:
        """What, why, and what it settles."""
        numbers = (Column(title, len(title), right=True) for title in ("tasks", "settles", "points"))
        return (Column("server", 12, 1), Column("because", 14, 1), *numbers)

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One cause."""
        mend, styles = self.records[row], self.styles_of_theme
        numbers = (str(mend.tasks), str(mend.settles), f"{mend.points:.1f}")
        return (Cell(mend.name), Cell(mend.reason, styles.dim), *(Cell(text, styles.strong) for text in numbers))


class AuditedRuns(RecordList[AuditedRun]):
    """The runs of tasks behind a number, each with what the environment failed."""

    EMPTY = "none"
    audit: Audit | None = None

    def show(self, records: Sequence[AuditedRun]) -> None:
        """Other runs."""
        self._named = run_names(self.audit) if self.audit else None
        super().show(records)

    def columns(self, width: int) -> Sequence[Column]:
        """Task, result, and what the environment failed."""
        return (Column("task", 16, 2), Column("reported", 8), Column("what the environment failed", 20, 3))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One run of a task."""
        run, styles = self.records[row], self.styles_of_theme
        faults = self.audit.faults_of(run) if self.audit else ()
        told = "; ".join(f"{fault.call.call} {fault.cause}: {fault.bearing.replace('-', ' ')}" for fault in faults)
        reported = {True: "passed", False: "lost", None: "–"}[run.passed]
        name = self._named(run) if self._named else run.trajectory
        return (Cell(name), Cell(reported, styles.dim), Cell(told, styles.dim))


def run_page(run: AuditedRun, faults: Sequence[AuditedFault], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    doubt = f"undecided: {DOUBTS[run.doubt]}" if run.doubt else "decided as it was reported"
    writer.prose(f"{run.model}, reported: {REPORTED[run.passed]}; {doubt}", styles.dim)
    for fault in faults:
        calls, bearing = listed(fault.positions), NUMBERS[fault.bearing]
        writer.heading(f"{calls} {fault.tool or '(no name)'}", f"{fault.cause}, {bearing}")
        writer.prose(fault.message)
        after = f"; {counted(len(fault.dependents), 'call')} depend on it" if fault.dependents else ""
        writer.prose(f"The model {fault.then}{after}. {fault.why}")
    if not faults:
        writer.prose("The environment failed none of its calls.")
    return writer.rows


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
