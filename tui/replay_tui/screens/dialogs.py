"""What opens over a screen: its keys, a whole text, and the question what to export."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from replay.safety.text import one_line
from replay_tui.browser import ExportRequest, ExportScope
from replay_tui.rendering import plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import SHOWN, Palette
from replay_tui.widgets.text_page import Row, TextPage, Writer


class HelpScreen(ModalScreen[None]):
    """Says what the screen below is for, and what each key does there.

    Args:
        screen: the one that is explained.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", tooltip="Close the help"),
    ]
    CSS = """
    HelpScreen { align: center middle; }
    HelpScreen TextPage { width: 84; max-width: 96%; height: 90%; border: round $border; background: $surface; }
    """

    def __init__(self, screen: RunScreen) -> None:
        super().__init__()
        self._about = screen
        self._keys = list(screen.active_bindings.values())

    def compose(self) -> ComposeResult:
        """One page."""
        yield TextPage(id="help")

    def on_mount(self) -> None:
        """Write it."""
        page = self.query_one(TextPage)
        page.border_title = plain(f"Keys: {self._about.NAME}")
        page.border_subtitle = plain("Escape closes")
        page.show(self._page)
        self.set_focus(page)

    def _page(self, width: int, styles: Palette) -> list[Row]:
        writer = Writer(width, styles)
        writer.prose(self._about.PURPOSE)
        groups: dict[str, list[ActiveBinding]] = {"Where the cursor is": [], "This screen": [], "Everywhere": []}
        for key in self._keys:
            group = "Everywhere" if key.node is self.app else "This screen" if key.node is self._about else ""
            groups[group or "Where the cursor is"].append(key)
        for title, keys in groups.items():
            if keys:
                writer.heading(title)
                _keys(writer, keys, self.app)
        writer.heading("Letters")
        writer.spans(*((f"{outcome.letter} {outcome.label}   ", styles.outcome(outcome)) for outcome in SHOWN))
        return writer.rows


def _keys(writer: Writer, keys: list[ActiveBinding], app: App[Any]) -> None:
    together: dict[str, list[ActiveBinding]] = {}
    for key in keys:
        if key.tooltip:  # what has none is Textual's own, and of no use here
            together.setdefault(key.tooltip, []).append(key)
    for words, same in together.items():
        names = " ".join(app.get_key_display(key.binding) for key in same)
        writer.labelled(f"{names:<17} ", words, writer.styles.text, label_style=writer.styles.accent, indent=18)


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


_ENDINGS = {"markdown": "md", "html": "html", "json": "json", "csv": "csv", "junit": "xml", "svg": "svg"}
_STEMS: Final[dict[ExportScope, str]] = {"call": "call", "filter": "calls", "run": "report"}


class ExportScreen(ModalScreen[ExportRequest | None]):
    """A list of reports, and the file to write.

    Args:
        formats: of reports.
        call: the selected call's id, where one is selected.
        filter_text: the filter of the list of calls, where there is one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", tooltip="Export nothing")]
    CSS = """
    ExportScreen { align: center middle; }
    ExportScreen Vertical { width: 70; max-width: 96%; height: auto; border: round $border; background: $surface;
      padding: 0 1; }
    ExportScreen OptionList { height: auto; max-height: 14; border: none; background: $surface; }
    ExportScreen Input { border: none; height: 1; background: $panel; }
    """

    def __init__(self, formats: Iterable[str], call: str | None, filter_text: str = "") -> None:
        super().__init__()
        self._filter = filter_text
        self._choices: list[tuple[str, ExportScope]] = [("markdown", "call")] if call else []
        if filter_text:
            self._choices += [(name, "filter") for name in formats]
        self._choices += [(name, "run") for name in formats]

    def compose(self) -> ComposeResult:
        """The reports, and the file's name."""
        with Vertical() as box:
            box.border_title = "Export"
            box.border_subtitle = "Enter goes on and writes, Escape cancels"
            yield OptionList(*(Option(self._label(*choice)) for choice in self._choices), markup=False)
            yield Static("to file", markup=False)
            yield Input()

    def on_mount(self) -> None:
        """Begin with the list."""
        self.set_focus(self.query_one(OptionList))

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another report has another name."""
        name, about = self._choices[event.option_index]
        self.query_one(Input).value = f"replay-{_STEMS[about]}.{_ENDINGS.get(name, name)}"

    @on(OptionList.OptionSelected)
    def chosen(self) -> None:
        """Now the file."""
        self.set_focus(self.query_one(Input))

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Done."""
        name, about = self._choices[self.query_one(OptionList).highlighted or 0]
        if path := self.query_one(Input).value.strip():
            self.dismiss(ExportRequest(name, about, Path(path).expanduser()))

    def _label(self, name: str, about: ExportScope) -> str:
        if about == "filter":
            return f"{name}: the calls that match {one_line(self._filter, 40)}"
        return f"{name}: the whole run" if about == "run" else f"{name}: the selected call"
