"""The keys of where one is."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.screen import ModalScreen

from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import plain
from replay_tui.screens.run_screen import RunScreen
from replay_tui.theme import LETTERS, SHOWN, Palette
from replay_tui.widgets.text_page import TextPage


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
                _keys(writer, keys)
        writer.heading("Letters")
        writer.spans(*((f"{LETTERS[outcome]} {outcome.label}   ", styles.outcome(outcome)) for outcome in SHOWN))
        return writer.rows

    def action_dismiss(self, result: None = None) -> None:  # type: ignore[override]
        """Close."""
        self.dismiss(result)


def _keys(writer: Writer, keys: list[ActiveBinding]) -> None:
    together: dict[str, list[ActiveBinding]] = {}
    for key in keys:
        if key.tooltip:  # what has none is Textual's own, and of no use here
            together.setdefault(key.tooltip, []).append(key)
    for words, same in together.items():
        names = " ".join(_name(key) for key in same)
        before = len(writer.rows)
        writer.spans((words, writer.styles.text), indent=18)
        lead = writer.rows[before][0]
        writer.rows[before][0] = lead._replace(text=f"{names:<17} "[:18], style=writer.styles.accent)


_NAMES = {
    "question_mark": "?", "slash": "/", "less_than_sign": "<", "greater_than_sign": ">", "escape": "Esc",
    "left_square_bracket": "[", "right_square_bracket": "]", "percent_sign": "%", "pageup": "PgUp",
    "pagedown": "PgDn", "up": "↑", "down": "↓", "left": "←", "right": "→", "enter": "Enter", "space": "Space",
    "shift+tab": "Shift+Tab", "tab": "Tab", "home": "Home", "end": "End", "ctrl+p": "^p",
}  # fmt: skip


def _name(key: ActiveBinding) -> str:
    pressed = key.binding.key
    return _NAMES.get(pressed, key.binding.key_display or pressed.removeprefix("upper_"))
