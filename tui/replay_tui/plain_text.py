"""The one door to the terminal while the browser is open: every line of every widget passes it."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from replay.safety.text import printable


class PlainText(LineFilter):
    """Shows what a terminal would act on as an escape, in as many cells as it was given, and lets no link through.

    Our own widgets make their text safe before they lay it out. This holds for those of Textual too: the field of the
    filter, notifications, the palette.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Make the segments of one line safe."""
        return [self._safe(segment) for segment in segments]

    def _safe(self, segment: Segment) -> Segment:
        text, style, control = segment
        shown = text if text.isascii() and text.isprintable() else printable(text.replace("\n", " ").replace("\t", " "))
        if shown != text:
            shown = set_cell_size(shown, cell_len(text))
        if style is not None and style.link:
            style = style.update_link(None)
        return Segment(shown, style, control)


PLAIN_TEXT: Final = PlainText()
