"""The aligned tasks of a model; the scores are read for the rows on the screen."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress

from replay.records.alignment import COLUMNS, AlignedTask
from replay.runfile.alignment_queries import aligned_task
from replay_tui.browser import browser_of
from replay_tui.rendering import Cell, Column, titled
from replay_tui.widgets.row_list import RowList
from replay_tui.widgets.scores_table import METRICS_IN_WORDS, METRICS_SHORT


class TaskTable(RowList):
    """A row a task."""

    EMPTY = "no aligned tasks"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._file = 0
        self._names: tuple[str, ...] = ()
        self._tasks: dict[str, AlignedTask] = {}

    def show(self, file: int, names: Sequence[str]) -> None:
        """Show the tasks of a file."""
        self._file, self._names, self._tasks = file, tuple(names), {}
        self.refresh_rows()

    @property
    def selected(self) -> AlignedTask | None:
        """The task under the cursor."""
        return self._known(self.cursor) if self._names else None

    def select(self, name: str) -> bool:
        """Put the cursor on a task; whether it is there."""
        if name in self._names:
            self.put_cursor(self._names.index(name))
        return name in self._names

    def row_count(self) -> int:
        """How many there are."""
        return len(self._names)

    def columns(self, width: int) -> Sequence[Column]:
        """All metrics where there is room."""
        names = titled([METRICS_IN_WORDS, METRICS_SHORT, METRICS_SHORT[:3]], width - 30)
        return (
            Column("task", 14, 2),
            Column("type", 12, 1),
            *(Column(name, max(7, len(name)), right=True) for name in names),
        )

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One task."""
        task = self._known(row)
        if task is None:
            return [Cell(self._names[row]), *(Cell("") for _ in widths[1:])]
        scores = [getattr(task, name) for name in COLUMNS]
        styles = self.styles_of_theme
        cells = [
            Cell(f"{score:.3f}", styles.dim if score == 1 else styles.strong) for score in scores[: len(widths) - 2]
        ]
        return [Cell(task.id), Cell(task.type or "–", styles.dim), *cells]

    def _known(self, row: int) -> AlignedTask | None:
        name = self._names[row]
        if name not in self._tasks:
            with suppress(sqlite3.Error):
                found = aligned_task(browser_of(self.app).open_run.connection, self._file, name)
                if found is not None:
                    self._tasks[name] = found
        return self._tasks.get(name)
