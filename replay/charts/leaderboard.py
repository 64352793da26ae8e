"""The models by their average score, or by their share of well-formed calls where nothing was aligned."""

from __future__ import annotations

from collections.abc import Sequence

from replay.charts.canvas import Canvas, shown
from replay.charts.intervals import BOOTSTRAP, WILSON, bootstrap, wilson
from replay.charts.options import FigureOptions, chosen_models, one_model_note
from replay.charts.palette import FRAME, INK, MUTE
from replay.records.alignment import COLUMNS
from replay.records.figure import FigureData
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models, aligned_tasks


def gather(run: Run, options: FigureOptions) -> FigureData:
    """One value a model, the best first."""
    wanted = {model.model for model in chosen_models(run, options)}
    aligned = [(file, model) for file, model in aligned_models(run.connection).items() if model.model in wanted]
    if not aligned:
        return _well_formed(run, options)
    aligned.sort(key=lambda pair: -pair[1].average_score)
    ends = [_interval(run, file, judged=model.judge is not None) for file, model in aligned]
    return FigureData(
        figure="leaderboard",
        title="Average score",
        measure="average score of the alignment",
        row_name="model",
        column_name="score",
        rows=tuple(model.model for _, model in aligned),
        columns=("average score",),
        values=tuple((model.average_score,) for _, model in aligned),
        low=tuple((low,) for low, _ in ends),
        high=tuple((high,) for _, high in ends),
        interval=BOOTSTRAP,
        totals=tuple(model.aggregate.num_ids for _, model in aligned),
        notes=one_model_note(aligned),
    )


def _interval(run: Run, file: int, *, judged: bool) -> tuple[float | None, float | None]:
    """None with a judge's column, of which there is no value a task to draw from."""
    return (None, None) if judged else bootstrap(aligned_tasks(run.connection, file), COLUMNS)


def _well_formed(run: Run, options: FigureOptions) -> FigureData:
    models = sorted(
        (model for model in chosen_models(run, options)),
        key=lambda model: -(model.well_formed / model.conclusive if model.conclusive else -1),
    )
    ends = [wilson(model.well_formed, model.conclusive) for model in models]
    return FigureData(
        figure="leaderboard",
        title="Well-formed calls",
        measure="share of the judged calls that were well formed",
        row_name="model",
        column_name="score",
        rows=tuple(model.model for model in models),
        columns=("well formed",),
        values=tuple((model.well_formed / model.conclusive if model.conclusive else None,) for model in models),
        low=tuple((low,) for low, _ in ends),
        high=tuple((high,) for _, high in ends),
        interval=WILSON,
        counts=tuple((model.well_formed,) for model in models),
        totals=tuple(model.conclusive for model in models),
        notes=(*one_model_note(models), "The run is not aligned with a reference: no average score is known."),
    )


def draw(data: FigureData, canvas: Canvas) -> None:
    """A bar a model with its interval; its value stands behind it."""
    (axes,) = canvas.axes(5.2, 0.75 + 0.3 * len(data.rows))
    for row, (value,) in enumerate(data.values):
        if value is None:
            axes.text(0.01, row, "none judged", va="center", color=MUTE, size=8 * canvas.scale)
            continue
        axes.barh(row, value, height=0.62, color="#b9d2ea", edgecolor=INK, lw=0.5)
        low, high = _ends(data, row)
        if low is not None and high is not None:
            axes.errorbar(
                value, row, xerr=[[value - low], [high - value]], color=INK, lw=1.1, capsize=2.5 * canvas.scale
            )
        end = max(value, high or 0)
        axes.text(end + 0.012, row, f"{value:.3f}", va="center", size=8.5 * canvas.scale)
    ranks = [f"  {row + 1}" if value is not None else "" for row, (value,) in enumerate(data.values)]
    axes.set_yticks(
        range(len(data.rows)), [f"{shown(name)}{rank}" for name, rank in zip(data.rows, ranks, strict=True)]
    )
    axes.set_ylim(len(data.rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.grid(axis="x", color=FRAME, alpha=0.35, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    canvas.label(f"{data.measure} ({data.interval})" if data.interval else data.measure)


def _ends(data: FigureData, row: int) -> Sequence[float | None]:
    return (data.low[row][0], data.high[row][0]) if data.low and data.high else (None, None)
