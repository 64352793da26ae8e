"""How charts look, whatever draws them: colours, patterns, names and values. In grey, patterns tell colours apart."""

from __future__ import annotations

from typing import Final

from replay.records import Outcome
from replay.records.chart import Chart
from replay.records.comparison import MeasureKind

OUTCOME_COLOURS: Final = {
    Outcome.SUCCESS: "#cfe8d5",
    Outcome.NOT_FOUND: "#f5d99a",
    Outcome.INVALID_ARGUMENTS: "#f0a884",
    Outcome.UNKNOWN_TOOL: "#d29bc4",
    Outcome.ILLEGAL_FORMAT: "#9fb4e0",
    Outcome.INCONCLUSIVE: "#eef0f2",
}
"""The outcomes as a bar shows them from left to right."""
HATCHES: Final = {
    Outcome.SUCCESS: "",
    Outcome.NOT_FOUND: "....",
    Outcome.INVALID_ARGUMENTS: "////",
    Outcome.UNKNOWN_TOOL: "xxxx",
    Outcome.ILLEGAL_FORMAT: "++++",
    Outcome.INCONCLUSIVE: "----",
}
"""As matplotlib writes them."""
INK: Final = "#1b1f24"
MUTE: Final = "#59636e"
FRAME: Final = "#8c959f"
SERIES: Final = (
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#1b1f24", "D"),
    ("#cc79a7", "v"),
    ("#56b4e9", "P"),
    ("#e69f00", "X"),
    ("#7a5b12", "<"),
)
"""Colours (Okabe and Ito's, for colour-blind readers) and markers of models."""
SHADES: Final = ("#ffffff", "#d6e4f2", "#9dbfe0", "#5b8fc4", "#2a5f9e", "#123a6b")
"""From nothing to much: one hue, ever darker."""


def value_text(kind: MeasureKind, value: float) -> str:
    """A value of a measure: a share in per cent, a small mean with three decimals."""
    if kind == "share":
        return f"{100 * value:.1f}%"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def ranked_kind(chart: Chart) -> MeasureKind:
    """Whether a leaderboard is of shares, behind which counts stand, or of means."""
    return "mean" if chart.counts is None else "share"
