"""The failures of each model in a panel of its own, on one scale, as the M3-Bench paper's figure 1."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from replay.charts import error_distribution
from replay.charts.canvas import Canvas, shown
from replay.charts.options import FigureOptions
from replay.charts.palette import HATCHES, INK, MUTE, OUTCOME_COLOURS
from replay.records import FAILURES, Outcome
from replay.records.figure import FigureData
from replay.runfile import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHORT_NAME = 17
"""Characters of a name that stand over a third of the figure."""


def gather(run: Run, options: FigureOptions) -> FigureData:
    """Shares of the judged calls that failed, by model and outcome."""
    data = error_distribution.gather(run, options)
    places = [data.columns.index(outcome) for outcome in FAILURES]
    counts = data.counts or ()
    return data.model_copy(
        update={
            "figure": "error-multiples",
            "title": "Failures by kind",
            "columns": tuple(map(str, FAILURES)),
            "values": tuple(tuple(row[place] for place in places) for row in data.values),
            "counts": tuple(tuple(row[place] for place in places) for row in counts),
        }
    )


def draw(data: FigureData, canvas: Canvas) -> None:
    """A panel a model, four bars each; two beside each other where names are long, else three."""
    short = max((len(name) for name in data.rows), default=0) <= _SHORT_NAME
    columns = min(3 if short else 2, max(len(data.rows), 1))
    lines = max(ceil(len(data.rows) / columns), 1)
    panels = canvas.axes(5.2, 0.45 + 1.15 * lines, lines, columns, sharex=True, sharey=True)
    most = max((value or 0 for row in data.values for value in row), default=0) or 1.0
    for panel in panels[len(data.rows) :]:
        panel.set_visible(False)
    for row, panel in zip(range(len(data.rows)), panels, strict=False):
        panel.set_title(shown(data.rows[row], _SHORT_NAME if columns > 2 else 25), size=8.5 * canvas.scale)
        _panel(data, canvas, panel, row, most)
        panel.tick_params(labelbottom=row + columns >= len(data.rows))
    canvas.label("per cent of the judged calls")


def _panel(data: FigureData, canvas: Canvas, panel: Axes, row: int, most: float) -> None:
    outcomes = [Outcome(column) for column in data.columns]
    small = 7.5 * canvas.scale
    total = data.totals[row] if data.totals else 0
    words = f"n = {total:,}" if total else "none judged"
    panel.text(0.98, 0.9, words, transform=panel.transAxes, ha="right", va="top", color=MUTE, size=small)
    for place, (outcome, value) in enumerate(zip(outcomes, data.values[row], strict=True)):
        if value is None:
            continue
        colour, hatch = OUTCOME_COLOURS[outcome], HATCHES[outcome]
        panel.barh(place, value, height=0.72, color=colour, hatch=hatch, edgecolor=INK, lw=0.5)
        panel.text(value + most * 0.03, place, f"{100 * value:.1f}", va="center", size=small)
    panel.set_yticks(range(len(outcomes)), [outcome.label for outcome in outcomes], size=8 * canvas.scale)
    panel.set_ylim(len(outcomes) - 0.4, -0.6)
    panel.set_xlim(0, most * 1.3)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}")
    panel.tick_params(axis="y", length=0)
