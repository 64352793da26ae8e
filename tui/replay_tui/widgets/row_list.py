"""A list of any length that asks for the rows on the screen, and for no others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replay_tui.rendering import Cell, Column, column_widths, row_segments, strip_of
from replay_tui.theme import Palette, palette


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
        Binding("home,g", "to_start", "First", show=False, tooltip="The first row"),
        Binding("end,G", "to_end", "Last", show=False, tooltip="The last row"),
        Binding("enter", "choose", "Open", tooltip="Open what is under the cursor"),
    ]

    cursor = reactive(0, repaint=False, always_update=True)

    @dataclass
    class Moved(Message):
        """The cursor stands on another row."""

        list: RowList
        row: int

        @property
        def control(self) -> RowList:
            """The list."""
            return self.list

    @dataclass
    class Chosen(Message):
        """A row was opened: Enter, or a second click."""

        list: RowList
        row: int

        @property
        def control(self) -> RowList:
            """The list."""
            return self.list

    EMPTY = "nothing here"
    """Said where there are no rows."""

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
            return strip_of([Segment(f" {self.EMPTY}", styles.dim)], width, base)
        if row >= count:
            return strip_of([], width, base)
        if y == 1:
            self.prepare(row, min(count, row + self.size.height))
        over = None
        if row == self.cursor:
            over = styles.cursor if self.has_focus else styles.cursor_away
        return strip_of(row_segments(self.cells(row, widths), columns, widths), width, base, over)

    # --- moving

    def watch_cursor(self, old: int, new: int) -> None:
        """Bring the cursor into view and tell."""
        if not self.is_mounted:
            return
        page, top = max(1, self.size.height - 1), self.scroll_offset.y
        if new < top:
            self.scroll_to(y=new, animate=False)
        elif new >= top + page:
            self.scroll_to(y=new - page + 1, animate=False)
        else:
            width = self.size.width
            self.refresh(*(Region(0, row - top + 1, width, 1) for row in {old, new} if 0 <= row - top < page))
        if old != new:
            self.post_message(self.Moved(self, new))

    def put_cursor(self, row: int) -> None:
        """Set the cursor to a row that there is."""
        self.cursor = max(0, min(row, self.row_count() - 1))

    def action_move(self, by: int) -> None:
        """Move by rows."""
        self.put_cursor(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move by pages."""
        self.put_cursor(self.cursor + by * max(1, self.size.height - 2))

    def action_to_start(self) -> None:
        """Go to the first row."""
        self.put_cursor(0)

    def action_to_end(self) -> None:
        """Go to the last row."""
        self.put_cursor(self.row_count() - 1)

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self.row_count():
            self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Select a row; a second click on it opens it."""
        row = self.row_at(event)
        if row is None:
            return
        again = row == self.cursor and event.chain > 1
        self.click_column(event)
        self.put_cursor(row)
        if again:
            self.action_choose()

    def row_at(self, event: events.MouseEvent) -> int | None:
        """The row under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y == 0:
            return None
        row = offset.y - 1 + self.scroll_offset.y
        return row if row < self.row_count() else None

    def column_at(self, event: events.MouseEvent) -> int | None:
        """The column under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        width = self.scrollable_content_region.width
        start = 0
        for place, size in enumerate(column_widths(self.columns(width), width)):
            if start <= offset.x < start + size + 1:
                return place
            start += size + 1
        return None

    def click_column(self, event: events.MouseEvent) -> None:
        """A subclass may care which column was clicked."""

    def on_focus(self) -> None:
        """The cursor looks different with the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """And without it."""
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in view."""
        self.refresh_rows()
        self.call_after_refresh(self.watch_cursor, self.cursor, self.cursor)

    def cursor_region(self) -> Region:
        """Where the cursor's row is drawn."""
        return Region(0, self.cursor - self.scroll_offset.y + 1, self.size.width, 1)
