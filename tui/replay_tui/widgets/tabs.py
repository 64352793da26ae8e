"""Textual's tabs on a single line: those of a screen's panels, and those of the screens themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static, Tab, Tabs

_NAMES: Final = ("overview", "calls", "trajectory", "alignment", "compare", "models", "audit")
SCREENS: Final = {name: (str(number), name.capitalize()) for number, name in enumerate(_NAMES, 1)}
"""Key and title of each screen."""
_ROOM_FOR_NAMES: Final = 86
"""Columns from which every screen's name is written out."""


class LineTabs(Tabs, can_focus=False):
    """Names of which one is active; keys of the screen change it.

    Args:
        names: by the names that the program has for them.
        active: the first one by default.
    """

    DEFAULT_CSS = """
    LineTabs { height: 1; }
    LineTabs Underline { display: none; }
    LineTabs Tab { color: $footer-description-foreground; }
    LineTabs Tab.-active { color: $accent; text-style: bold underline; }
    """

    def __init__(self, names: Mapping[str, str], active: str | None = None, *, id: str | None = None) -> None:  # noqa: A002
        tabs = (Tab(label, id=f"tab-{name}") for name, label in names.items())
        super().__init__(*tabs, active=f"tab-{active}" if active else None, id=id)

    @property
    def current(self) -> str:
        """The active one."""
        return self.active.removeprefix("tab-")

    @current.setter
    def current(self, name: str) -> None:
        self.active = f"tab-{name}"


class TopBar(Horizontal):
    """The screens by number, and the run's name at the right.

    Args:
        current: the screen that it stands on.
    """

    DEFAULT_CSS = """
    TopBar { height: 1; dock: top; background: $panel; }
    TopBar Static#run { width: 1fr; padding: 0 1; text-align: right; text-wrap: nowrap; text-overflow: ellipsis;
      color: $footer-description-foreground; }
    """

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = current

    def compose(self) -> ComposeResult:
        """Both."""
        yield LineTabs({name: " ".join(words) for name, words in SCREENS.items()}, self._current)
        yield Static("", id="run", markup=False)

    def on_resize(self) -> None:
        """Where there is little room, the other screens are numbers."""
        labels = [
            f"{key} {title}" if self.size.width >= _ROOM_FOR_NAMES or name == self._current else key
            for name, (key, title) in SCREENS.items()
        ]
        for tab, label in zip(self.query(Tab), labels, strict=True):
            tab.label = label
        self.query_one(LineTabs).styles.width = sum(len(label) + 2 for label in labels)

    @on(Tabs.TabActivated)
    async def activated(self, event: Tabs.TabActivated) -> None:
        """Go to the screen that was clicked; its own bar shows it, and this one stays as it is."""
        event.stop()
        tabs = self.query_one(LineTabs)
        if (name := tabs.current) != self._current:
            tabs.current = self._current
            self.run_worker(self.app.run_action(f"go('{name}')"))
