"""Colours; letters say the same without them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from rich.style import Style
from textual.theme import Theme

from replay.records import FAILURES, Outcome

SHOWN: Final = (Outcome.SUCCESS, *reversed(FAILURES), Outcome.INCONCLUSIVE)
"""The outcomes in the order in which they are shown: from well to badly, inconclusive apart."""
UNJUDGED: Final = "·"
"""The letter of a call that has no verdict yet."""

DARK: Final = Theme(
    name="replay-dark",
    primary="#7aa2f7",
    secondary="#bb9af7",
    accent="#ff9e64",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8d0e8",
    background="#15161e",
    surface="#1a1b26",
    panel="#232433",
    dark=True,
    variables={
        "border": "#7aa2f7",
        "border-blurred": "#3a3d55",
        "footer-key-foreground": "#ff9e64",
        "footer-background": "#15161e",
        "footer-description-foreground": "#8b92b0",
        "input-selection-background": "#7aa2f7 35%",
        "scrollbar": "#3a3d55",
        "scrollbar-background": "#1a1b26",
    },
)
LIGHT: Final = Theme(
    name="replay-light",
    primary="#2e5bb8",
    secondary="#7847bd",
    accent="#b15c00",
    warning="#8c6c00",
    error="#b3263e",
    success="#3f7a1f",
    foreground="#22253a",
    background="#eceef3",
    surface="#f8f9fc",
    panel="#e2e5ee",
    dark=False,
    variables={
        "border": "#2e5bb8",
        "border-blurred": "#c3c8d8",
        "footer-key-foreground": "#b15c00",
        "footer-background": "#eceef3",
        "footer-description-foreground": "#565c77",
        "scrollbar": "#b9bfd2",
        "scrollbar-background": "#f0f2f7",
    },
)


@dataclass(frozen=True)
class Palette:
    """The styles that lines are drawn with; backgrounds are left to the widgets."""

    text: Style
    dim: Style
    faint: Style
    strong: Style
    accent: Style
    cursor: Style
    """Of the row under the cursor, where its list has the focus."""
    cursor_away: Style
    """The same where it has not."""
    cell: Style
    """Of the cell under the cursor."""
    removed: Style
    added: Style
    violation: Style
    outcomes: dict[Outcome, Style]
    bars: dict[Outcome, Style]

    def outcome(self, outcome: Outcome | None) -> Style:
        """The style of an outcome's letter and word; dim where there is none."""
        return self.outcomes[outcome] if outcome is not None else self.dim


_DARK_OUTCOMES: Final = ("#9ece6a", "#e0af68", "#f7768e", "#bb9af7", "#7dcfff", "#8b92b0")
_LIGHT_OUTCOMES: Final = ("#3f7a1f", "#8c6c00", "#b3263e", "#7847bd", "#00708f", "#5d6380")


@cache
def palette(*, dark: bool) -> Palette:
    """The palette of dark, or of light themes."""
    colours = _DARK_OUTCOMES if dark else _LIGHT_OUTCOMES
    ink = "#15161e" if dark else "#ffffff"
    return Palette(
        text=Style(),
        dim=Style(color="#8b92b0" if dark else "#565c77"),
        faint=Style(color="#4a4f6a" if dark else "#a9afc4"),
        strong=Style(bold=True),
        accent=Style(color="#ff9e64" if dark else "#b15c00", bold=True),
        cursor=Style(bgcolor="#33467c" if dark else "#c9d7f5"),
        cursor_away=Style(bgcolor="#262a3f" if dark else "#e3e7f2"),
        cell=Style(reverse=True, bold=True),
        removed=Style(bgcolor="#4b2330" if dark else "#ffdbe0"),
        added=Style(bgcolor="#26402b" if dark else "#d5f0cf"),
        violation=Style(color="#f7768e" if dark else "#b3263e", bold=True, underline=True),
        outcomes={
            outcome: Style(color=colour, bold=outcome is not Outcome.SUCCESS)
            for outcome, colour in zip(SHOWN, colours, strict=True)
        },
        bars={outcome: Style(bgcolor=colour, color=ink) for outcome, colour in zip(SHOWN, colours, strict=True)},
    )
