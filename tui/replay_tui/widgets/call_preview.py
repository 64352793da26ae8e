"""A few lines about the call under the cursor: what came, by which rule, with which arguments."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from replay.runfile.call_queries import CallLine
from replay.safety.text import one_line
from replay_tui.rendering import strip_of
from replay_tui.theme import LETTERS, Palette, palette


class CallPreview(Widget):
    """The verdict in words, the rule behind it, the start of the arguments."""

    DEFAULT_CSS = """
    CallPreview { height: 4; border-top: solid $border-blurred; padding: 0 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._line: CallLine | None = None

    def show(self, line: CallLine | None) -> None:
        """Show this call."""
        self._line = line
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw a line."""
        width = self.content_region.width
        styles = palette(dark=self.app.current_theme.dark)
        parts = self._parts(y, styles) if self._line is not None else []
        segments = [Segment(one_line(text, width) + "  ", style) for text, style in parts if text]
        return strip_of(segments, width, self.rich_style)

    def _parts(self, y: int, styles: Palette) -> list[tuple[str, Style]]:
        line = self._line
        assert line is not None
        if y == 0:
            outcome = f"{LETTERS[line.outcome]} {line.outcome.label}" + (f" ({line.reason})" if line.reason else "")
            return [(outcome, styles.outcome(line.outcome)), (line.message, styles.text)]
        if y == 1:
            cause = f"caused by {line.caused_by}" if line.caused_by else ""
            facts = [f"rule {line.rule}", line.certainty, f"drift {line.drift}" if line.drift else "", cause]
            return [(" · ".join(fact for fact in facts if fact), styles.dim)]
        return [("arguments", styles.dim), (line.arguments or "none", styles.text)]
