"""Two models, or two runs, on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from replay.records import Outcome
from replay.runfile import compare_queries
from replay.runfile.compare_queries import CallPair, RunModel, TaskPair
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.rendering import Cell, Column, fitted, plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import Palette
from replay_tui.widgets.row_list import RecordList, RowList
from replay_tui.widgets.text_page import Row, TextPage, Writer


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


def calls_page(names: tuple[str, str], pairs: Sequence[CallPair], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    half = (writer.width - 5) // 2
    titles = [Segment(fitted(name, half), styles.dim) for name in names]
    writer.rows.append([titles[0], Segment("     "), titles[1]])
    for pair in pairs:
        row: Row = []
        mark = " ≠ " if pair.changed else " = " if pair.calls[0] == pair.calls[1] else "   "
        for number, call in enumerate(pair.calls):
            if number:
                row.append(Segment(f" {mark} ", styles.accent if pair.changed else styles.faint))
            if call is None:
                row.append(Segment(fitted("–", half), styles.faint))
                continue
            position, tool, outcome = call
            row.append(Segment(outcome.letter, styles.outcome(outcome)))
            row.append(
                Segment(
                    " " + fitted(f"{position:<7} {tool or '(no name)'}", half - 2), None if pair.changed else styles.dim
                )
            )
        writer.rows.append(row)
    return writer.rows


class CompareScreen(RunScreen):
    """What changed?"""

    NAME = "compare"
    FIRST = "TaskPairs"
    PURPOSE = "Two models, or two runs, on the same tasks: which got better or worse, and which calls changed outcome."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "side(0)", "Other a", tooltip="Another model or run on the left"),
        Binding("b", "side(1)", "Other b", tooltip="Another model or run on the right"),
        Binding("x", "swap", "Swap", tooltip="Left becomes right"),
    ]

    table = getters.query_one(TaskPairs)

    def __init__(self) -> None:
        super().__init__()
        self._sides: list[RunModel] = []
        self._chosen = [0, 1]

    def compose_body(self) -> ComposeResult:
        """The tasks, and the calls of one of them."""
        with Container(id="body"):
            yield TaskPairs(id="tasks")
            yield TextPage(id="page")

    @property
    def pair(self) -> tuple[RunModel, RunModel] | None:
        """The two sides; None where there is only one to choose from."""
        if len(self._sides) < 2:
            return None
        return self._sides[self._chosen[0] % len(self._sides)], self._sides[self._chosen[1] % len(self._sides)]

    def reload(self) -> None:
        """Read again what there is to compare."""
        known = self._sides
        self._sides = compare_queries.models_to_compare(self.open_run.connection)
        if not known:
            self._chosen = self._first_choice()
        self._compare()

    def _first_choice(self) -> list[int]:
        """Two models of the run; or what stood before, in the other run, and then the same model in this one."""
        before = [number for number, side in enumerate(self._sides) if side.schema == compare_queries.OTHER]
        after = {side.model: number for number, side in enumerate(self._sides) if side.schema != compare_queries.OTHER}
        if not before:
            return [0, 1]
        same = (number for number in before if self._sides[number].model in after)
        first = next(same, before[0])
        return [first, after.get(self._sides[first].model, 0)]

    def _compare(self) -> None:
        pair = self.pair
        if pair is None:
            self.table.EMPTY = "nothing to compare: this run has one model; --against RUN opens a second run"
            self.table.show(())
            self.table.border_title = plain("Compare")
            return
        self.table.border_title = plain(f"a {self._side_name(pair[0])}   b {self._side_name(pair[1])}")
        self.table.border_subtitle = plain("comparing …")
        self.ask(lambda run: compare_queries.task_pairs(run.connection, *pair), self._compared)

    def _side_name(self, side: RunModel) -> str:
        where = (
            f" ({self.open_run.against.name})" if side.schema == compare_queries.OTHER and self.open_run.against else ""
        )
        return one_line(f"{side.model}{where}", 40)

    def _compared(self, pairs: list[TaskPair]) -> None:
        better, worse = sum(pair.gain > 0 for pair in pairs), sum(pair.gain < 0 for pair in pairs)
        changed = sum(pair.changed for pair in pairs)
        tasks, calls = "task" if len(pairs) == 1 else "tasks", "call" if changed == 1 else "calls"
        changes = f"{len(pairs):,} {tasks}: {better:,} better, {worse:,} worse · {changed:,} {calls} of another outcome"
        self.table.border_subtitle = plain(changes)
        self.table.show(pairs)
        self._show_calls()

    @on(RowList.Moved, "#tasks")
    def _show_calls(self) -> None:
        """The calls of another task."""
        pair, task = self.pair, self.table.selected
        page = self.query_one(TextPage)
        if pair is None or task is None:
            page.show(lambda _width, _styles: [])
            return
        calls = compare_queries.call_pairs(self.open_run.connection, *pair, task)
        page.border_title = plain(one_line(task.name, 60))
        page.show(partial(calls_page, (self._side_name(pair[0]), self._side_name(pair[1])), calls))

    @on(RowList.Chosen, "#tasks")
    def chosen(self) -> None:
        """Open the trajectory of the second side, where it is of this run; else of the first."""
        pair, task = self.pair, self.table.selected
        if pair is None or task is None:
            return
        row = next(
            (row for side, row in reversed(list(zip(pair, task.rows, strict=True))) if side.schema == "main"), None
        )
        if row is not None:
            self.app.post_message(ShowTrajectory(row))

    def action_side(self, which: int) -> None:
        """Another side."""
        if len(self._sides) > 1:
            self._chosen[which] = (self._chosen[which] + 1) % len(self._sides)
            if self._chosen[0] == self._chosen[1]:
                self._chosen[which] = (self._chosen[which] + 1) % len(self._sides)
            self._compare()

    def action_swap(self) -> None:
        """The other way round."""
        self._chosen.reverse()
        self._compare()
