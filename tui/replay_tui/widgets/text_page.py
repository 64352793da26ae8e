"""A page of rows: a `Writer` writes it for its width and makes all text safe; what is on the screen is drawn."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Final, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from replay.safety.text import printable
from replay_tui.rendering import strip_of
from replay_tui.theme import Palette, palette

Row: TypeAlias = list[Segment]
Page: TypeAlias = Callable[[int, Palette], list[Row]]
"""Writes a page for a width."""
_WORD: Final = re.compile("[^ ]* |[^ ]+")
"""With the space behind it."""
MAX_LINES: Final = 300
MAX_CHARACTERS: Final = 20_000


class Writer:
    """Collects rows.

    Args:
        width: of the page, in cells.
        styles: to write with.
    """

    def __init__(self, width: int, styles: Palette) -> None:
        self.width, self.styles = max(20, width), styles
        self.rows: list[Row] = []

    def blank(self) -> None:
        """An empty row, unless there is one already."""
        if self.rows and self.rows[-1]:
            self.rows.append([])

    def heading(self, text: str, note: str = "") -> None:
        """The title of a section."""
        self.blank()
        self.rows.append([Segment(text, self.styles.accent), Segment(f"  {note}" if note else "", self.styles.dim)])

    def spans(self, *spans: tuple[str, Style], indent: int = 0) -> None:
        """Prose of several styles, wrapped at words."""
        words = [(word, style) for text, style in spans for word in _WORD.findall(printable(text).replace("\n", " "))]
        row, used = [Segment(" " * indent)], indent
        for word, style in words:
            for number, piece in enumerate(chop_cells(word, self.width - indent)):
                size = cell_len(piece)
                if used + size > self.width + (1 if piece.endswith(" ") else 0) or number:
                    self.rows.append(row)
                    row, used = [Segment(" " * indent)], indent
                row.append(Segment(piece, style))
                used += size
        self.rows.append(row)

    def prose(self, text: str, style: Style | None = None, indent: int = 0) -> None:
        """A paragraph; its own line breaks stay."""
        for line in text.split("\n"):
            self.spans((line, style or self.styles.text), indent=indent)

    def labelled(self, label: str, text: str, style: Style, *, label_style: Style, indent: int) -> None:
        """A paragraph with a label before its first line."""
        first = len(self.rows)
        self.spans((text, style), indent=indent)
        self.rows[first][0] = Segment(f"{label:<{indent}}"[:indent], label_style)

    def code(self, text: str, style: Style | None = None, mark: str = "  ") -> None:
        """One line as it is, folded at the width; `mark` stands before it."""
        for number, piece in enumerate(folded(printable(text), self.width - cell_len(mark))):
            lead = mark if number == 0 else " " * cell_len(mark)
            self.rows.append([Segment(lead, style), Segment(piece, style)])

    def lines(self, lines: Sequence[str], style: Style | None = None) -> None:
        """Many lines, cut where there are too many for a panel; the whole stands on a page of its own."""
        shown, more = cut_to_panel(lines)
        for line in shown:
            self.code(line, style)
        if more:
            self.spans((more, self.styles.accent), indent=2)

    def difference(
        self, recorded: Sequence[str], replayed: Sequence[str], names: tuple[str, str] = ("recorded", "replayed")
    ) -> None:
        """Two texts side by side where there is room, else one under the other; what differs is marked."""
        left, right = cut_to_panel(recorded), cut_to_panel(replayed)
        pairs = list(_paired(left[0], right[0]))
        if self.width >= 72:
            self._beside(pairs, names)
        else:
            self._beneath(pairs, names)
        for more in (left[1], right[1]):
            if more:
                self.spans((more, self.styles.accent), indent=2)

    def _beside(self, pairs: Sequence[tuple[str | None, str | None, bool]], names: tuple[str, str]) -> None:
        half = (self.width - 3) // 2
        self.rows.append([Segment(names[0].ljust(half), self.styles.dim), Segment(" │ ", self.styles.faint)])
        self.rows[-1].append(Segment(names[1], self.styles.dim))
        for old, new, same in pairs:
            left = folded(printable(old), half - 2) if old is not None else []
            right = folded(printable(new), half - 2) if new is not None else []
            for number in range(max(len(left), len(right))):
                row = _half(left, number, half, "  " if same else "- ", None if same else self.styles.removed)
                row.append(Segment(" │ ", self.styles.faint))
                row += _half(right, number, half, "  " if same else "+ ", None if same else self.styles.added)
                self.rows.append(row)

    def _beneath(self, pairs: Sequence[tuple[str | None, str | None, bool]], names: tuple[str, str]) -> None:
        self.rows.append([Segment(f"- {names[0]}  + {names[1]}", self.styles.dim)])
        for old, new, same in pairs:
            if same:
                self.code(old or "")
                continue
            if old is not None:
                self.code(old, self.styles.removed, "- ")
            if new is not None:
                self.code(new, self.styles.added, "+ ")


def folded(text: str, width: int) -> list[str]:
    """A line in pieces that fit."""
    return chop_cells(text.expandtabs(4), width) or [""]


def cut_to_panel(lines: Sequence[str]) -> tuple[list[str], str]:
    """As much as a panel shows, and how much more there is."""
    shown: list[str] = []
    room = MAX_CHARACTERS
    for line in lines[:MAX_LINES]:
        if room <= 0:
            break
        shown.append(line[:room])
        room -= len(line)
    left = sum(map(len, lines)) - sum(map(len, shown))
    hidden = len(lines) - len(shown)
    if not left and not hidden:
        return shown, ""
    what = f"{hidden:,} lines" if hidden else f"{left:,} characters"
    return shown, f"… {what} more: v shows all"


def _paired(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str | None, str | None, bool]]:
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old, new = left[old_start:old_end], right[new_start:new_end]
        for number in range(max(len(old), len(new))):
            old_line = old[number] if number < len(old) else None
            new_line = new[number] if number < len(new) else None
            yield old_line, new_line, tag == "equal"


def _half(pieces: Sequence[str], number: int, width: int, mark: str, style: Style | None) -> Row:
    if number >= len(pieces):
        return [Segment(" " * width)]
    lead = mark if number == 0 else "  "
    text = pieces[number]
    return [Segment(lead + text + " " * max(0, width - cell_len(text) - 2), style)]


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
