"""A text of any length, a page at a time."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import plain
from replay_tui.theme import Palette
from replay_tui.widgets.text_page import TextPage

PAGE = 50_000
"""Characters a page: as many as are folded well within a tenth of a second."""


class WholeTextScreen(ModalScreen[None]):
    """Pages through a text.

    Args:
        title: says whose it is.
        text: as it came; it is made safe page by page.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v", "dismiss", "Close", tooltip="Back to the call"),
        Binding("greater_than_sign,right,n", "turn(1)", "Next page", tooltip="The next page"),
        Binding("less_than_sign,left,p", "turn(-1)", "Page before", tooltip="The page before"),
    ]
    CSS = """
    WholeTextScreen TextPage { width: 100%; height: 100%; border: round $border; background: $surface; }
    """

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._pages, self._place = title, paged(text), 0

    def compose(self) -> ComposeResult:
        """One page."""
        yield TextPage(id="whole")

    def on_mount(self) -> None:
        """Begin at the beginning."""
        self.set_focus(self.query_one(TextPage))
        self._turn()

    def action_turn(self, by: int) -> None:
        """Another page."""
        self._place = max(0, min(len(self._pages) - 1, self._place + by))
        self._turn()

    def _turn(self) -> None:
        page = self.query_one(TextPage)
        page.border_title = plain(self._title)
        number = f"page {self._place + 1} of {len(self._pages)} · < > turns · " if len(self._pages) > 1 else ""
        page.border_subtitle = plain(f"{number}Escape closes")
        page.show(partial(_written, self._pages[self._place]))

    def action_dismiss(self, result: None = None) -> None:  # type: ignore[override]
        """Close."""
        self.dismiss(result)


def paged(text: str) -> list[str]:
    """A text in pages, cut at the end of a line where one is near."""
    pages, start = [], 0
    while start < len(text):
        end = start + PAGE
        if end < len(text):
            line = text.rfind("\n", start + PAGE // 2, end)
            end = line + 1 if line > 0 else end
        pages.append(text[start:end])
        start = end
    return pages or [""]


def _written(text: str, width: int, styles: Palette) -> list[Row]:
    writer = Writer(width, styles)
    for line in text.removesuffix("\n").split("\n"):
        writer.code(line, mark="")
    return writer.rows
