"""The list of calls, its filter, and the verdict on the call under the cursor. Of the calls, of which there may be any
number, only those on the screen are read.
"""

from __future__ import annotations

import sqlite3
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from rich.segment import Segment
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import get_current_worker

from replay.records import Outcome, qualified_name
from replay.runfile import call_queries
from replay.runfile.call_queries import ORDERS, CallLine, Order, failing_groups
from replay.runfile.filters import Filter
from replay.safety.text import one_line
from replay_tui.browser import ShowTrajectory
from replay_tui.rendering import Cell, Column, news, news_first, told_apart
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import Palette
from replay_tui.widgets.filter_line import FilterLine
from replay_tui.widgets.row_list import RowList
from replay_tui.widgets.text_page import Row, TextPage

_AT_FIRST: Final = "outcome:failed"
"""What the list shows before anybody asked for something; a filter that is typed takes its place."""
_MAX_LINES_KEPT = 2000
_PAUSE_SECONDS = 0.2
"""Seconds between two looks at a list that is still being read."""


class CallsTable(RowList):
    """Calls that match a filter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next column: run, outcome, tool, model, task, ..."),
        Binding("S", "reverse", "Reverse", show=False, tooltip="Sort the other way round"),
        Binding("n", "failure(1)", "Next failure", tooltip="Go to the next failure in the list"),
        Binding("N", "failure(-1)", "Previous", show=False, tooltip="Go to the failure before"),
    ]
    EMPTY = "no call matches the filter; / changes it, Escape clears it"

    @dataclass
    class Counted(Message):
        """How many calls there are so far."""

        number: int
        complete: bool

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._ids, self._kinds = array("I"), array("I")
        self._lines: dict[int, CallLine] = {}
        self._failing: frozenset[int] = frozenset()
        self._asking: sqlite3.Connection | None = None
        self._filter = Filter()
        self._wanted: int | None = None
        self.order: Order = "run"
        self.descending = False

    # --- what to show

    def show(self, wanted: Filter) -> None:
        """Show the calls that a filter matches, from the first on."""
        self._filter, self._wanted = wanted, None
        self._walk(refresh=False)

    def refresh_calls(self) -> None:
        """The run grew: read the list again, and stay where we are."""
        self._wanted = self.selected_id
        self._lines.clear()
        self._walk(refresh=True)

    def select(self, call: int) -> None:
        """Put the cursor on a call, if it is in the list."""
        with suppress(ValueError):
            self.put_cursor(self._ids.index(call))

    @property
    def selected_id(self) -> int | None:
        """The call under the cursor."""
        return self._ids[self.cursor] if self.cursor < len(self._ids) else None

    @property
    def selected(self) -> CallLine | None:
        """The same with its columns."""
        return self._line(self.cursor) if self.cursor < len(self._ids) else None

    def _walk(self, *, refresh: bool) -> None:
        if self._asking is not None:
            with suppress(sqlite3.Error):
                self._asking.interrupt()
        self._failing = failing_groups(self.app.open_run.connection)
        self._read(self._filter, self.order, self.descending, refresh)

    @work(thread=True, exclusive=True, group="calls")
    def _read(self, wanted: Filter, order: Order, descending: bool, refresh: bool) -> None:
        worker, due = get_current_worker(), 0.0
        ids, kinds = array("I"), array("I")
        with self.app.open_run.thread_connection() as run:
            if run is None:
                return
            self._asking = run.connection
            try:
                for chunk in call_queries.matching_calls(run.connection, wanted, order, descending=descending):
                    ids.extend(mark[0] for mark in chunk)
                    kinds.extend(mark[1] for mark in chunk)
                    if worker.is_cancelled:
                        return
                    if not refresh and time.perf_counter() >= due:
                        due = time.perf_counter() + _PAUSE_SECONDS
                        self.app.call_from_thread(self._arrived, ids, kinds, complete=False)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                return  # another question took the place of this one
            finally:
                if self._asking is run.connection:
                    self._asking = None
        if not worker.is_cancelled:
            self.app.call_from_thread(self._arrived, ids, kinds, complete=True)

    def _arrived(self, ids: array[int], kinds: array[int], *, complete: bool) -> None:
        if ids is not self._ids:
            self._ids, self._kinds = ids, kinds
            self.set_reactive(RowList.cursor, 0 if self._wanted is None else min(self.cursor, max(0, len(ids) - 1)))
            if self._wanted is None:
                self.scroll_to(y=0, animate=False)
                self.post_message(self.Moved(self))
        self.refresh_rows()
        if complete and self._wanted is not None and self.selected_id != self._wanted:
            self.select(self._wanted)
        self.post_message(self.Counted(len(ids), complete))

    # --- drawing

    def row_count(self) -> int:
        """How many are there so far."""
        return len(self._ids)

    def prepare(self, first: int, last: int) -> None:
        """Read the rows that are about to be drawn and are not known yet."""
        wanted = [call for call in self._ids[first:last] if call not in self._lines]
        if wanted:
            if len(self._lines) > _MAX_LINES_KEPT:
                self._lines.clear()
                wanted = list(self._ids[first:last])
            with suppress(sqlite3.Error):
                self._lines |= call_queries.lines(self.app.open_run.connection, wanted)

    def columns(self, width: int) -> Sequence[Column]:
        """More of them the wider it is."""
        mark, is_narrow = "▾" if self.descending else "▴", width < 118

        def sorting(title: str, key: Order, min_width: int, share: int = 0) -> Column:
            return Column(f"{title}{mark}" if key == self.order else title, min_width, share, key=key)

        columns = [sorting("", "outcome", 2) if is_narrow else sorting("outcome", "outcome", 19)]
        if len(self._models) > 1:
            columns.append(sorting("model", "model", max(6, min(max(map(len, self._models)), 18 if is_narrow else 28))))
        columns += [sorting("task", "run", 9 if is_narrow else 14, 1), Column("call", 6 if is_narrow else 7)]
        columns += [sorting("tool", "tool", 14 if is_narrow else 24, 2), Column("what happened", 20, 6)]
        if width >= 140:
            columns += [
                sorting("rule", "rule", 14, 1),
                sorting("certainty", "certainty", 10),
                sorting("drift", "drift", 9),
            ]
        return columns

    @property
    def _models(self) -> set[str]:
        """A run of one model needs no column for it."""
        return {model for _, model, _ in self.app.open_run.vocabulary.models}

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """One call."""
        styles, line = self.styles_of_theme, self._line(row)
        if line is None:
            return [Cell("…", styles.dim), *(Cell("") for _ in widths[1:])]
        letter, colour = line.outcome.letter, styles.outcome(line.outcome)
        outcome = letter if widths[0] < 10 else f"{letter} {line.reason or line.outcome.label}"
        cause = f"after {line.caused_by}: " if line.caused_by else ""
        cells = [
            Cell(outcome, colour),
            *([Cell(told_apart(line.model, self._models, widths[1]), styles.dim)] if len(self._models) > 1 else []),
            Cell(line.task),
            Cell(line.position),
            Cell(qualified_name(line.server, line.tool) or "(no name)"),
            Cell(cause + _what_happened(line), styles.dim),
        ]
        if len(widths) > len(cells):
            sure = styles.accent if line.certainty == "fallback" else styles.dim
            drift = styles.accent if line.drift == "different" else styles.dim
            cells += [Cell(line.rule, styles.dim), Cell(line.certainty, sure), Cell(line.drift or "–", drift)]
        return cells

    def _line(self, row: int) -> CallLine | None:
        call = self._ids[row]
        if call not in self._lines:
            self.prepare(row, row + 1)
        return self._lines.get(call)

    # --- keys

    def action_sort(self, by: int) -> None:
        """Sort by the next column."""
        self.sort_by(ORDERS[(ORDERS.index(self.order) + by) % len(ORDERS)], descending=False)

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.sort_by(self.order, descending=not self.descending)

    def sort_by(self, order: Order, *, descending: bool) -> None:
        """Sort by a column."""
        self.order, self.descending, self._wanted = order, descending, None
        self._walk(refresh=False)

    def action_failure(self, by: int) -> None:
        """Go to the next failure in the list, or to the one before."""
        rows = range(self.cursor + by, len(self._kinds) if by > 0 else -1, by)
        row = next((row for row in rows if self._kinds[row] in self._failing), None)
        if row is None:
            self.app.notify("no further failure in this list", timeout=2)
        else:
            self.put_cursor(row)

    def title_clicked(self, key: str) -> None:
        """Sort by the column."""
        order = next(order for order in ORDERS if order == key)
        self.sort_by(order, descending=order == self.order and not self.descending)


def _what_happened(line: CallLine) -> str:
    """Of a success what there is beside its rule's sentence, unless nothing spoke for it."""
    succeeded = line.outcome is Outcome.SUCCESS and line.certainty != "fallback"
    return (news if succeeded else news_first)(line.message, line.rule)


class CallPreview(TextPage, can_focus=False):
    """The verdict in words, the rule behind it, the start of the arguments."""

    DEFAULT_CSS = """
    CallPreview { height: 4; border-top: solid $border-blurred; padding: 0 1; background: $surface; }
    """


def preview_page(line: CallLine | None, width: int, styles: Palette) -> list[Row]:
    """The page."""
    if line is None:
        return []
    outcome = f"{line.outcome.letter} {line.outcome.label}" + (f" ({line.reason})" if line.reason else "")
    cause = f"caused by {line.caused_by}" if line.caused_by else ""
    facts = [f"rule {line.rule}", line.certainty, f"drift {line.drift}" if line.drift else "", cause]
    lines = (
        ((outcome, styles.outcome(line.outcome)), (news_first(line.message, line.rule), styles.text)),
        ((" · ".join(fact for fact in facts if fact), styles.dim),),
        (("arguments", styles.dim), (line.arguments or "none", styles.text)),
    )
    return [[Segment(one_line(text, width) + "  ", style) for text, style in parts if text] for parts in lines]


class CallsScreen(RunScreen):
    """Which calls?"""

    NAME = "calls"
    FIRST = "CallsTable"
    PURPOSE = "The calls that match the filter, at first those that failed. Enter opens the call in its trajectory."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", tooltip="Type a filter: words, and key:value"),
        Binding("f", "failures", "Failures", tooltip="Only failures, or everything again"),
        Binding("escape", "back", "Back", show=False, tooltip="Clear the filter; then back to the overview"),
    ]

    table = getters.query_one(CallsTable)
    line = getters.query_one(FilterLine)

    def __init__(self) -> None:
        super().__init__()
        self.filter = Filter()
        self._started = False
        self._filtered = False
        """Whether somebody asked for a filter."""

    def compose_body(self) -> ComposeResult:
        """The filter line, the calls, and the verdict on one of them."""
        yield FilterLine()
        yield CallsTable(id="calls")
        yield CallPreview()

    def show(self, text: str) -> None:
        """Show the calls that a filter matches."""
        self._started = self._filtered = True
        self.line.put(text)
        self.set_focus(self.table)

    def reload(self) -> None:
        """Read the list again, from where it stands."""
        if self._started:
            self.table.refresh_calls()
        else:  # the failures, where there are any; unless someone is typing there already
            self._started = True
            if self.line.is_typing or not failing_groups(self.open_run.connection):
                self.table.show(self.filter)
            else:
                self.line.put(_AT_FIRST)

    @on(FilterLine.Applied)
    def applied(self, message: FilterLine.Applied) -> None:
        """Another filter."""
        self._filtered = self._filtered or message.filter.text != _AT_FIRST
        self.filter = message.filter
        self.app.filter = message.filter
        self.table.show(message.filter)

    @on(CallsTable.Counted)
    def counted(self, message: CallsTable.Counted) -> None:
        """So many calls."""
        noun = "call" if message.number == 1 else "calls"
        sort = "" if self.table.order == "run" else f" · by {self.table.order}"
        self.line.count(f"{message.number:,}{'' if message.complete else '…'} {noun}{sort}")
        self._preview()

    @on(RowList.Moved, "#calls")
    def _preview(self) -> None:
        """Another call under the cursor."""
        self.query_one(CallPreview).show(partial(preview_page, self.table.selected))

    @on(RowList.Chosen, "#calls")
    def chosen(self) -> None:
        """Open the call in its trajectory."""
        if (line := self.table.selected) is not None:
            self.app.post_message(ShowTrajectory(line.trajectory, ordinal=line.ordinal))

    def action_filter(self) -> None:
        """Type a filter."""
        self.line.start(anew=self.filter.text == _AT_FIRST and not self._filtered)

    def action_failures(self) -> None:
        """Only failures, or everything again."""
        words = self.filter.text.split()
        if "outcome:failed" in words:
            words.remove("outcome:failed")
        else:
            words = [word for word in words if not word.startswith("outcome:")] + ["outcome:failed"]
        self.show(" ".join(words))

    async def action_back(self) -> None:
        """Clear the filter; without one, back to where we came from."""
        if self.filter.text:
            self.show("")
        else:
            await self.app.run_action("app.back")

    def selected_call(self) -> tuple[int, str] | None:
        """Trajectory row and position of the call under the cursor."""
        line = self.table.selected
        return None if line is None else (line.trajectory, line.position)
