"""Counts by outcome, a row a model, server, tool or whatever it is: a bar, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal, TypeAlias

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from replay.records import FAILURES, Outcome
from replay_tui.rendering import Cell, Column, bar, fitted, titled, told_apart
from replay_tui.theme import SHOWN
from replay_tui.widgets.row_list import RecordList

_BESIDE_NUMBERS: Final = 38
"""Cells of a wide table that name, calls and bar need."""

Measure: TypeAlias = Literal["failed", "calls", "followed"]
"""What a narrow table counts, and sets in proportion: failures, all calls, or those that followed from a failure."""


@dataclass(frozen=True)
class CountsRow:
    """One row."""

    name: str
    outcomes: dict[Outcome, int]
    filter: str
    """The calls that it counts, as a filter."""

    @property
    def total(self) -> int:
        """All of its calls."""
        return sum(self.outcomes.values())


class CountsTable(RecordList[CountsRow]):
    """A row a thing, a column an outcome; Enter opens the calls of the cell under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "cell(-1)", "Left", show=False, tooltip="The outcome to the left"),
        Binding("right,l", "cell(1)", "Right", show=False, tooltip="The outcome to the right"),
    ]
    column = reactive(0)
    """0 for the whole row, then the outcomes."""

    @dataclass
    class Drilled(Message):
        """The calls of a row, or of one of its cells, are wanted."""

        filter: str

    def __init__(
        self,
        title: str,
        noun: str,
        *,
        id: str | None = None,  # noqa: A002
        measure: Measure = "failed",
    ) -> None:
        super().__init__(id=id)
        self.border_title = title
        self._noun, self._percent, self._measure = noun, False, measure

    def toggle_shares(self) -> None:
        """Shares of the conclusive calls (of all, for the inconclusive ones), or numbers."""
        self._percent = not self._percent
        self.refresh()

    def columns(self, width: int) -> Sequence[Column]:
        """As many numbers as there is room for; the bar takes what is left."""
        if width < 26:
            return (Column(self._noun, 4, 1), Column(self._measure, 8, right=True))
        if width < 58:
            return (
                Column(self._noun, max(4, min(16, width - 17)), 2),
                Column("", 6, 2),
                Column(self._measure, 8, right=True),
            )
        least = 7 if width >= 90 else 6
        words = [outcome.label for outcome in SHOWN]
        both = [f"{outcome.letter} {outcome.label}" for outcome in SHOWN]
        letters = [outcome.letter for outcome in SHOWN]
        choices = [both, letters] if self.app.no_color else [both, words, letters]
        titles = titled(choices, width - _BESIDE_NUMBERS)
        outcomes = [
            Column(title, max(least, len(title)), right=True, key=outcome, style=self.styles_of_theme.outcome(outcome))
            for outcome, title in zip(SHOWN, titles, strict=True)
        ]
        longest = max((len(counts.name) for counts in self.records), default=0)
        room = width - sum(column.min_width + 1 for column in outcomes) - 16  # of the calls, the bar and its spaces
        name = Column(self._noun, max(12, min(longest, room)))
        return (name, Column("calls", 7, right=True), Column("", 6, 5), *outcomes)

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """Name, bar and numbers."""
        styles, counts = self.styles_of_theme, self.records[row]
        name = Cell(told_apart(counts.name, (other.name for other in self.records), widths[0]))
        if len(widths) <= 3:
            return (name, *self._narrow_cells(counts, widths[1] if len(widths) == 3 else 0))
        numbers = [self._number(row, counts, outcome, widths[3]) for outcome in SHOWN]
        drawn = bar(counts.outcomes, widths[2], styles, colour=not self.app.no_color)
        return (name, Cell(_short(counts.total), styles.dim), Cell("", segments=drawn), *numbers)

    def _narrow_cells(self, counts: CountsRow, width: int) -> Sequence[Cell]:
        """Bar and number."""
        styles = self.styles_of_theme
        scale = max((self._measured(shown).total for shown in self.records), default=0)
        counted = self._measured(counts)
        colour = not self.app.no_color
        drawn = bar(counted.outcomes, width, styles, scale, colour=colour) if counted.total else (Segment(" " * width),)
        number = Cell(f"{counted.total:,}", styles.strong if counted.total else styles.faint)
        return (Cell("", segments=drawn), number) if width else (number,)

    def _measured(self, counts: CountsRow) -> CountsRow:
        if self._measure == "failed":
            return replace(counts, outcomes={name: n for name, n in counts.outcomes.items() if name in FAILURES})
        return counts

    def _number(self, row: int, counts: CountsRow, outcome: Outcome, width: int) -> Cell:
        styles, number = self.styles_of_theme, counts.outcomes.get(outcome, 0)
        conclusive = counts.total - counts.outcomes.get(Outcome.INCONCLUSIVE, 0)
        whole = counts.total if outcome is Outcome.INCONCLUSIVE else conclusive
        text = (f"{number / whole:.1%}" if whole else "–") if self._percent else _short(number)
        style = styles.outcome(outcome) if number else styles.faint
        if row == self.cursor and self.has_focus and self.column == SHOWN.index(outcome) + 1:
            return Cell("", segments=(Segment(fitted(text, width, right=True), style + styles.cell),))
        return Cell(text, style)

    def action_cell(self, by: int) -> None:
        """Go to another outcome of the row."""
        last = len(SHOWN) if len(self.columns(self.size.width)) > 3 else 0
        self.column = max(0, min(last, self.column + by))

    def action_choose(self) -> None:
        """Open the calls that the cell under the cursor counts."""
        if (counts := self.selected) is None:
            return
        outcome = f"outcome:{SHOWN[self.column - 1]}" if self.column else ""
        self.post_message(self.Drilled(f"{counts.filter} {outcome}".strip()))

    def column_clicked(self, column: int) -> None:
        """A click on a number selects it."""
        self.column = max(0, column - 2) if len(self.columns(self.size.width)) > 3 else 0


def _short(number: int) -> str:
    return f"{number:,}" if number < 100_000 else f"{number / 1000:,.0f}k"
