"""A list of any length that asks for the rows on the screen, and for no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual import events, getters
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replay_tui.browser import Browser
from replay_tui.rendering import Cell, Column, column_widths, row_segments, strip_of
from replay_tui.theme import Palette, palette

R = TypeVar("R")


class RowList(ScrollView, can_focus=True):
    """A table with a header line and a cursor. A subclass says how many rows there are and what stands in them."""

    DEFAULT_CSS = """
    RowList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="The row above"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="The row below"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="A page up"),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="A page down"),
        Binding("home,g", "move(-1000000000)", "First", show=False, tooltip="The first row"),
        Binding("end,G", "move(1000000000)", "Last", show=False, tooltip="The last row"),
        Binding("enter", "choose", "Open", tooltip="Open what is under the cursor"),
    ]

    app = getters.app(Browser)
    cursor = reactive(0)

    @dataclass
    class ListMessage(Message):
        """Something happened in a list."""

        list: RowList

        @property
        def control(self) -> RowList:
            """The list, for the selectors of handlers."""
            return self.list

    class Moved(ListMessage):
        """The cursor stands on another row."""

    class Chosen(ListMessage):
        """The row under the cursor was opened: Enter, or a second click."""

    EMPTY = "nothing here"
    """Said where there are no rows."""
    waiting = False
    """Whether nobody knows yet which rows there are."""

    # --- what a subclass says

    def row_count(self) -> int:
        """How many rows there are."""
        raise NotImplementedError

    def columns(self, width: int) -> Sequence[Column]:
        """The columns that fit into a width."""
        raise NotImplementedError

    def cells(self, row: int, widths: Sequence[int]) -> Sequence[Cell]:
        """What stands in a row, one cell a column."""
        raise NotImplementedError

    def prepare(self, first: int, last: int) -> None:
        """Rows `first` up to `last` are about to be drawn."""

    def title_clicked(self, key: str) -> None:
        """The title of a column that has a key was clicked."""

    def column_clicked(self, column: int) -> None:
        """A row was clicked in this column."""

    # --- drawing

    @property
    def styles_of_theme(self) -> Palette:
        """The palette that goes with the theme."""
        return palette(dark=self.app.current_theme.dark)

    def refresh_rows(self) -> None:
        """The rows changed, or how many there are."""
        count = self.row_count()
        self.virtual_size = Size(0, count + 1)
        if self.cursor >= count:
            self.set_reactive(RowList.cursor, max(0, count - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line: the header, then the rows from the scroll offset on."""
        width, count = self.scrollable_content_region.width, self.row_count()
        columns = self.columns(width)
        widths = column_widths(columns, width)
        base, styles = self.rich_style, self.styles_of_theme
        if y == 0:
            titles = [Cell(column.title, column.style or styles.dim) for column in columns]
            return strip_of(row_segments(titles, columns, widths), width, base)
        row = y - 1 + self.scroll_offset.y
        if y == 1 and count == 0:
            return strip_of([Segment(" computing …" if self.waiting else f" {self.EMPTY}", styles.dim)], width, base)
        if row >= count:
            return strip_of([], width, base)
        if y == 1:
            self.prepare(row, min(count, row + self.size.height))
        over = None
        if row == self.cursor:
            over = styles.cursor if self.has_focus else styles.cursor_away
        return strip_of(row_segments(self.cells(row, widths), columns, widths), width, base, over)

    # --- moving

    def watch_cursor(self) -> None:
        """Bring the cursor into view and tell."""
        if self.is_mounted:
            self._bring_into_view()
            self.post_message(self.Moved(self))

    def _bring_into_view(self) -> None:
        page, top = max(1, self.size.height - 1), self.scroll_offset.y
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + page:
            self.scroll_to(y=self.cursor - page + 1, animate=False)

    def put_cursor(self, row: int) -> None:
        """Set the cursor to a row that there is."""
        self.cursor = max(0, min(row, self.row_count() - 1))

    def action_move(self, by: int) -> None:
        """Move by rows."""
        self.put_cursor(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move by pages."""
        self.put_cursor(self.cursor + by * max(1, self.size.height - 2))

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self.row_count():
            self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        """Select a row, of which a second click opens it; or sort by a column, where the list does that."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        column = self._column_at(offset.x)
        if offset.y == 0:
            key = self.columns(self.scrollable_content_region.width)[column].key if column is not None else ""
            if key:
                self.title_clicked(key)
            return
        row = offset.y - 1 + self.scroll_offset.y
        if row >= self.row_count():
            return
        again = row == self.cursor and event.chain > 1
        if column is not None:
            self.column_clicked(column)
        self.put_cursor(row)
        if again:
            self.action_choose()

    def _column_at(self, x: int) -> int | None:
        width = self.scrollable_content_region.width
        start = 0
        for number, size in enumerate(column_widths(self.columns(width), width)):
            if start <= x < start + size + 1:
                return number
            start += size + 1
        return None

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self.refresh_rows()
        self.call_after_refresh(self._bring_into_view)


class RecordList(RowList, Generic[R]):
    """A list whose records are all at hand, a row a record."""

    records: tuple[R, ...] = ()
    waiting = True

    def show(self, records: Sequence[R]) -> None:
        """Show these; the cursor stays where it is."""
        self.records, self.waiting = tuple(records), False
        self.refresh_rows()

    @property
    def selected(self) -> R | None:
        """What is under the cursor."""
        return self.records[self.cursor] if self.cursor < len(self.records) else None

    def row_count(self) -> int:
        """How many there are."""
        return len(self.records)
