"""The keys of where one is, in the last line. Drawn as a line: a widget a key would take longer than all the rest."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import ActiveBinding
from textual.strip import Strip
from textual.widget import Widget

from replay_tui.rendering import strip_of
from replay_tui.theme import palette


class KeyBar(Widget):
    """Names the keys that are shown; the mouse presses them, and hovering says what they do."""

    DEFAULT_CSS = "KeyBar { height: 1; dock: bottom; background: $background; }"

    def on_mount(self) -> None:
        """Follow the focus."""
        self.screen.bindings_updated_signal.subscribe(self, self._updated)

    def _updated(self, _screen: Any) -> None:
        self.refresh()

    def _keys(self) -> list[tuple[str, ActiveBinding]]:
        actions: dict[str, tuple[str, ActiveBinding]] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.tooltip:
                actions.setdefault(active.binding.action, (self.app.get_key_display(active.binding), active))
        return list(actions.values())

    def render_line(self, y: int) -> Strip:
        """Draw it."""
        styles = palette(dark=self.app.current_theme.dark)
        segments = []
        for key, active in self._keys():
            segments += [Segment(f" {key} ", styles.accent), Segment(f"{active.binding.description} ", styles.dim)]
        return strip_of(segments, self.size.width, self.rich_style)

    def _at(self, x: int) -> ActiveBinding | None:
        start = 0
        for key, active in self._keys():
            width = cell_len(key) + cell_len(active.binding.description) + 3
            if start <= x < start + width:
                return active
            start += width
        return None

    async def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        if (active := self._at(event.x)) is not None:
            await self.app.run_action(active.binding.action, active.node)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what the key does."""
        active = self._at(event.x)
        self.tooltip = active.tooltip if active else None
