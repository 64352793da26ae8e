"""A page of rows that were written for its width; only those on the screen are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replay_tui.pages.writer import Row
from replay_tui.rendering import strip_of
from replay_tui.theme import Palette, palette

Page: TypeAlias = Callable[[int, Palette], list[Row]]
"""Writes a page for a width."""


class TextPage(ScrollView, can_focus=True):
    """Scrolls through a page."""

    DEFAULT_CSS = """
    TextPage { scrollbar-size-vertical: 1; overflow-x: hidden; background: $surface; padding: 0 1; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "Up", show=False, tooltip="A line up"),
        Binding("down,j", "scroll(1)", "Down", show=False, tooltip="A line down"),
        Binding("pageup,b", "scroll_page(-1)", "Page up", show=False, tooltip="A page up"),
        Binding("pagedown,space", "scroll_page(1)", "Page down", show=False, tooltip="A page down"),
        Binding("home,g", "scroll(-10000000)", "Top", show=False, tooltip="To the top"),
        Binding("end,G", "scroll(10000000)", "Bottom", show=False, tooltip="To the bottom"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._page: Page = lambda _width, _styles: []
        self._rows: list[Row] = []
        self._written: tuple[int, bool] | None = None

    def show(self, page: Page, *, stay: bool = False) -> None:
        """Show another page, from the top on, or where the old one was."""
        self._page, self._written = page, None
        if not stay:
            self.scroll_to(y=0, animate=False)
        self._write()

    def _write(self) -> None:
        dark = self.app.current_theme.dark
        width = self.scrollable_content_region.width
        if width <= 0 or self._written == (width, dark):
            return
        self._written = (width, dark)
        self._rows = self._page(width, palette(dark=dark))
        self.virtual_size = Size(0, len(self._rows))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        self._write()
        row = y + self.scroll_offset.y
        segments: Row = self._rows[row] if row < len(self._rows) else [Segment("")]
        return strip_of(segments, self.scrollable_content_region.width, self.rich_style)

    def action_scroll(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=max(0, self.scroll_offset.y + by), animate=False)

    def action_scroll_page(self, by: int) -> None:
        """Scroll by pages."""
        self.action_scroll(by * max(1, self.size.height - 1))

    def on_resize(self) -> None:
        """Write the page for the new width."""
        self._write()

    @property
    def text(self) -> str:
        """What stands on the page."""
        return "\n".join("".join(segment.text for segment in row) for row in self._rows)
