"""The line at the top: where one is, what else there is, and which run this is."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from replay.safety.text import one_line
from replay_tui.rendering import strip_of
from replay_tui.theme import palette

TABS: Final = (
    ("overview", "1 Overview"),
    ("calls", "2 Calls"),
    ("trajectory", "3 Trajectory"),
    ("alignment", "4 Alignment"),
    ("compare", "5 Compare"),
    ("models", "6 Models"),
)


class TopBar(Widget):
    """The screens by number, and the run's name at the right."""

    DEFAULT_CSS = "TopBar { height: 1; dock: top; background: $panel; }"
    note = reactive("")

    def __init__(self, current: str) -> None:
        super().__init__()
        self._current = current

    def render_line(self, y: int) -> Strip:
        """Draw it."""
        styles = palette(dark=self.app.current_theme.dark)
        segments: list[Segment] = []
        for name, label in self._labels():
            style = styles.accent if name == self._current else styles.dim
            segments.append(Segment(f" {label} ", style))
        used = sum(cell_len(segment.text) for segment in segments)
        room = self.size.width - used - 2
        if room > 8:
            text = one_line(self.note, room)
            segments.append(Segment(" " * (room - cell_len(text) + 1) + text, styles.dim))
        return strip_of(segments, self.size.width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Go to the screen that was clicked."""
        start = 0
        for name, label in self._labels():
            if start <= event.x < start + len(label) + 2:
                self.run_worker(self.app.run_action(f"go('{name}')"))
                return
            start += len(label) + 2

    def _labels(self) -> list[tuple[str, str]]:
        if self.size.width >= 75:
            return list(TABS)
        return [(name, label if name == self._current else label[:1]) for name, label in TABS]
