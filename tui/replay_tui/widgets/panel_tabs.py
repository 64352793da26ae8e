"""The names of panels of which one is shown at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from replay_tui.rendering import strip_of
from replay_tui.theme import palette


class PanelTabs(Widget):
    """A line of names; a click picks one."""

    DEFAULT_CSS = "PanelTabs { height: 1; padding: 0 1; }"
    current = reactive(0)

    @dataclass
    class Picked(Message):
        """A name was clicked."""

        place: int

    def __init__(self, names: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._names = tuple(names)

    def render_line(self, y: int) -> Strip:
        """Draw it."""
        styles = palette(dark=self.app.current_theme.dark)
        segments = []
        for place, name in enumerate(self._names):
            style = styles.accent if place == self.current else styles.dim
            segments.append(Segment(f"[{name}] " if place == self.current else f" {name}  ", style))
        return strip_of(segments, self.size.width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Pick the name that was clicked."""
        offset = event.get_content_offset(self)
        start = 0
        for place, name in enumerate(self._names):
            if offset is not None and start <= offset.x < start + len(name) + 3:
                self.post_message(self.Picked(place))
            start += len(name) + 3
