"""The tasks of two sides, what got worse first."""

from __future__ import annotations

from collections.abc import Sequence

from replay.records import Outcome
from replay.runfile.compare_queries import TaskPair
from replay_tui.rendering import Cell, Column
from replay_tui.widgets.row_list import RowList


class TaskPairs(RowList):
    """A row a task."""

    EMPTY = "no task in common; a and b choose other sides"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._pairs: tuple[TaskPair, ...] = ()

    def show(self, pairs: Sequence[TaskPair]) -> None:
        """Show these."""
        self._pairs = tuple(pairs)
        self.refresh_rows()

    @property
    def selected(self) -> TaskPair | None:
        """The task under the cursor."""
        return self._pairs[self.cursor] if self._pairs else None

    def row_count(self) -> int:
        """How many there are."""
        return len(self._pairs)

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
        pair, styles = self._pairs[row], self.styles_of_theme
        word, style = "same", styles.dim
        if pair.gain > 0:
            word, style = "▲ better", styles.outcome(Outcome.SUCCESS)
        elif pair.gain < 0:
            word, style = "▼ worse", styles.outcome(Outcome.INVALID_ARGUMENTS)
        failed = [Cell(f"{wrong}/{calls}") for wrong, calls in zip(pair.failed, pair.calls, strict=True)]
        changed = Cell(str(pair.changed), styles.strong if pair.changed else styles.faint)
        return (Cell(word, style), Cell(pair.name), *failed, changed)
