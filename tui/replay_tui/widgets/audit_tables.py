"""An audit's numbers, what to mend, and the runs of tasks behind a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.reactive import reactive

from replay.records.audit import Audit, AuditedModel, AuditedRun, Mend, Number
from replay.reports.audit import NUMBERS
from replay_tui.rendering import Cell, Column, fitted, titled
from replay_tui.widgets.row_list import RecordList

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
        return (Cell(model.model), Cell(reported, styles.strong), Cell(supported), *numbers)

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

    def columns(self, width: int) -> Sequence[Column]:
        """Task, result, and what the environment failed."""
        return (Column("task", 16, 2), Column("reported", 8), Column("what the environment failed", 20, 3))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One run of a task."""
        run, styles = self.records[row], self.styles_of_theme
        faults = self.audit.faults_of(run) if self.audit else ()
        told = "; ".join(f"{fault.call.call} {fault.cause}: {fault.bearing.replace('-', ' ')}" for fault in faults)
        reported = {True: "passed", False: "lost", None: "–"}[run.passed]
        return (Cell(f"{run.model}:{run.trajectory}"), Cell(reported, styles.dim), Cell(told, styles.dim))
