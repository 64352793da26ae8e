"""The chart of the outcomes alone, as a drawing that needs no style sheet."""

from __future__ import annotations

from replay.charts.counts import outcomes_of
from replay.charts.svg import stacked_bars
from replay.reports import Selection
from replay.reports.scope import scope_of
from replay.runfile import Run


def render(run: Run, selection: Selection) -> str:
    """A bar a model."""
    return f"{stacked_bars(outcomes_of(scope_of(run, selection).models), alone=True)}\n"
