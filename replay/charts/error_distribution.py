"""How the calls of each model came out: a bar a model, as the M3-Bench paper's figure 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.charts.canvas import Canvas, shown
from replay.charts.options import FigureOptions, chosen_models, one_model_note
from replay.charts.palette import HATCHES, INK, MUTE, ORDER, OUTCOME_COLOURS
from replay.records import Outcome
from replay.records.figure import FigureData
from replay.runfile import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_LABELLED = 0.07
"""Share of a bar that has room for a number."""


def gather(run: Run, options: FigureOptions) -> FigureData:
    """Shares of the judged calls, by model; the best model first."""
    models = sorted(chosen_models(run, options), key=lambda model: -_share(model.well_formed, model.conclusive))
    unjudged = sum(model.outcomes[Outcome.INCONCLUSIVE] for model in models)
    note = f"{unjudged} inconclusive calls count in no category." if unjudged else None
    return FigureData(
        figure="error-distribution",
        title="How the calls came out",
        measure="share of the judged calls",
        row_name="model",
        column_name="outcome",
        rows=tuple(model.model for model in models),
        columns=tuple(map(str, ORDER)),
        values=tuple(
            tuple(model.outcomes[outcome] / model.conclusive if model.conclusive else None for outcome in ORDER)
            for model in models
        ),
        counts=tuple(tuple(model.outcomes[outcome] for outcome in ORDER) for model in models),
        totals=tuple(model.conclusive for model in models),
        notes=(*one_model_note(models), *([note] if note else [])),
    )


def draw(data: FigureData, canvas: Canvas) -> None:
    """Stacked bars; the number of judged calls stands behind each."""
    (axes,) = canvas.axes(5.2, 1.15 + 0.34 * len(data.rows))
    outcomes = [Outcome(column) for column in data.columns]
    for row, values in enumerate(data.values):
        left = 0.0
        for outcome, value in zip(outcomes, values, strict=True):
            if value:
                _segment(canvas, axes, row, left, value, outcome)
                left += value
        total = data.totals[row] if data.totals else 0
        words = f"{total:,}" if total else "none judged"
        place, side = (1.015, "left") if total else (0.5, "center")
        axes.text(place, row, words, va="center", ha=side, color=MUTE, size=8 * canvas.scale)
    axes.set_yticks(range(len(data.rows)), [shown(name) for name in data.rows])
    axes.set_ylim(len(data.rows) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    canvas.label("of the judged calls, whose number stands on the right")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    _legend(canvas, outcomes)


def _segment(canvas: Canvas, axes: Axes, row: int, left: float, value: float, outcome: Outcome) -> None:
    axes.barh(
        row,
        value,
        left=left,
        height=0.72,
        color=OUTCOME_COLOURS[outcome],
        hatch=HATCHES[outcome],
        edgecolor=INK,
        lw=0.5,
    )
    if value >= _MIN_LABELLED:
        axes.text(
            left + value / 2,
            row,
            f"{100 * value:.0f}",
            ha="center",
            va="center",
            size=8 * canvas.scale,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2},
        )


def _legend(canvas: Canvas, outcomes: list[Outcome]) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=OUTCOME_COLOURS[outcome], hatch=HATCHES[outcome], edgecolor=INK, lw=0.5, label=outcome.label)
        for outcome in outcomes
    ]
    canvas.figure.legend(handles=patches, loc="outside upper left", ncols=3, handlelength=1.6, columnspacing=1.2)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else -1.0
