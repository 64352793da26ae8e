"""The alignment metrics: a row a model, and a row a task."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from replay.records.alignment import COLUMNS, METRICS, AlignedModel, AlignedTask
from replay.runfile.alignment_queries import aligned_task
from replay_tui.rendering import Cell, Column, titled, told_apart
from replay_tui.widgets.row_list import RecordList

_WORDS: Final = tuple(name.replace("_", " ") for name in COLUMNS)
_SHORT: Final = tuple(METRICS[name].short or METRICS[name].label for name in COLUMNS)


class ScoresTable(RecordList[AlignedModel]):
    """Metrics over all tasks of a model, the average first; Enter opens the alignment."""

    BORDER_TITLE = "Alignment"
    EMPTY = "no alignment; replay align adds one"

    def columns(self, width: int) -> Sequence[Column]:
        """As many as there is room for."""
        words, short = ("average", *_WORDS), ("average", *_SHORT)
        shown = titled([words, short, short[: max(1, (width - 12) // 8)]], width - 16)
        return (Column("model", 10, 1), *(Column(name, max(7, len(name)), right=True) for name in shown))

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One model."""
        model, styles = self.records[row], self.styles_of_theme
        scores = [getattr(model.aggregate, name) for name in COLUMNS]
        average = Cell(f"{model.average_score:.3f}", styles.strong)
        name = told_apart(model.model, (other.model for other in self.records), widths[0])
        return (Cell(name), average, *(Cell(f"{score:.3f}", styles.dim) for score in scores[: len(widths) - 2]))


class TaskTable(RecordList[str]):
    """The aligned tasks of a model, of which the scores are read for those on the screen."""

    EMPTY = "no aligned tasks"
    _file = 0

    def show_tasks(self, file: int, names: Sequence[str]) -> None:
        """Show the tasks of a file."""
        self._file, self._known = file, dict[str, AlignedTask]()
        self.show(names)

    @property
    def selected_task(self) -> AlignedTask | None:
        """The task under the cursor."""
        return None if self.selected is None else self._aligned(self.selected)

    def select(self, name: str) -> bool:
        """Put the cursor on a task; whether it is there."""
        if name in self.records:
            self.put_cursor(self.records.index(name))
        return name in self.records

    def columns(self, width: int) -> Sequence[Column]:
        """All metrics where there is room."""
        names = titled([_WORDS, _SHORT, _SHORT[:3]], width - 30)
        return (
            Column("task", 14, 2),
            Column("type", 12, 1),
            *(Column(name, max(7, len(name)), right=True) for name in names),
        )

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One task."""
        task, styles = self._aligned(self.records[row]), self.styles_of_theme
        if task is None:
            return [Cell(self.records[row]), *(Cell("") for _ in widths[1:])]
        scores = [getattr(task, name) for name in COLUMNS[: len(widths) - 2]]
        cells = [Cell(f"{score:.3f}", styles.dim if score == 1 else styles.strong) for score in scores]
        return [Cell(task.id), Cell(task.type or "–", styles.dim), *cells]

    def _aligned(self, name: str) -> AlignedTask | None:
        if name not in self._known:
            with suppress(sqlite3.Error):
                task = aligned_task(self.app.open_run.connection, self._file, name)
                if task is not None:
                    self._known[name] = task
        return self._known.get(name)
