"""One metric by type of task: a dot a model with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from replay.charts.canvas import Canvas, shown
from replay.charts.intervals import BOOTSTRAP, WILSON, bootstrap, wilson
from replay.charts.options import FigureOptions, chosen_models, one_model_note
from replay.charts.palette import FRAME, SERIES
from replay.errors import UsageError
from replay.records import Outcome
from replay.records.alignment import COLUMNS, AlignedTask, Scores
from replay.records.figure import Cells, FigureData
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models, aligned_tasks
from replay.runfile.summary import breakdown, model_counts
from replay.suggestions import nearest_name

AVERAGE = "average"
OUTCOME_METRICS = {"success": (Outcome.SUCCESS,), "well-formed": (Outcome.SUCCESS, Outcome.NOT_FOUND)}
METRICS = (AVERAGE, *Scores.model_fields, *OUTCOME_METRICS)
_NO_TYPE = "(no type)"


def gather(run: Run, options: FigureOptions) -> FigureData:
    """A metric of the alignment (by default their average), or a share of the judged calls where nothing was aligned.

    Raises:
        UsageError: a metric that there is not, or that the run does not have.
    """
    metric = options.metric
    if metric is not None and metric not in METRICS:
        nearest = nearest_name(metric, METRICS)
        raise UsageError(f"there is no metric {metric!r}; did you mean {nearest}? there are {', '.join(METRICS)}")
    models = [model.model for model in chosen_models(run, options)]
    aligned = {file: model for file, model in aligned_models(run.connection).items() if model.model in models}
    if metric in OUTCOME_METRICS or (metric is None and not aligned):
        return _of_outcomes(run, options, metric or "well-formed", models)
    if not aligned:
        raise UsageError(
            f"{run.path} is not aligned with a reference, so {metric} is not known; see replay align --help"
        )
    return _of_alignment(run, options, metric or AVERAGE, {file: model.model for file, model in aligned.items()})


def _of_alignment(run: Run, options: FigureOptions, metric: str, files: dict[int, str]) -> FigureData:
    metrics = COLUMNS if metric == AVERAGE else (metric,)
    by_type: dict[tuple[str, int], list[AlignedTask]] = {}
    for file in files:
        for task in aligned_tasks(run.connection, file):
            by_type.setdefault((task.type or _NO_TYPE, file), []).append(task)
    types = Counter(
        {kind: sum(len(tasks) for (one, _), tasks in by_type.items() if one == kind) for kind, _ in by_type}
    )
    ordered = [kind for kind, _ in types.most_common(options.rows)]

    def cells(value: Sequence[float | None]) -> tuple[tuple[float | None, ...], ...]:
        width = len(files)
        return tuple(tuple(value[start : start + width]) for start in range(0, len(value), width))

    groups = [by_type.get((kind, file), []) for kind in ordered for file in files]
    ends = [bootstrap(tasks, metrics) for tasks in groups]
    more = len(types) - len(ordered)
    return FigureData(
        figure="metric-by-type",
        title=f"{_label(metric)} by type of task",
        measure=_label(metric),
        row_name="type",
        column_name="model",
        rows=tuple(ordered),
        columns=tuple(files.values()),
        values=cells([_score(tasks, metrics) for tasks in groups]),
        low=cells([low for low, _ in ends]),
        high=cells([high for _, high in ends]),
        interval=BOOTSTRAP,
        counts=tuple(tuple(len(by_type.get((kind, file), [])) for file in files) for kind in ordered),
        notes=(*one_model_note(tuple(files)), *_more(more, len(files))),
    )


def _score(tasks: Sequence[AlignedTask], metrics: Sequence[str]) -> float | None:
    if not tasks:
        return None
    from replay.alignment.metrics import aggregate

    scores = aggregate(tasks)
    return float(sum(getattr(scores, name) for name in metrics) / len(metrics))


def _of_outcomes(run: Run, options: FigureOptions, metric: str, models: Sequence[str]) -> FigureData:
    part: Counter[tuple[str, str]] = Counter()
    whole: Counter[tuple[str, str]] = Counter()
    for counts in model_counts(run.connection):
        for group in breakdown(run.connection, "task_type", counts.files) if counts.model in models else ():
            key = group.names[0] or _NO_TYPE, counts.model
            part[key] += sum(group.outcomes.get(outcome, 0) for outcome in OUTCOME_METRICS[metric])
            whole[key] += sum(group.outcomes.values()) - group.outcomes.get(Outcome.INCONCLUSIVE, 0)
    types = {kind: sum(whole[kind, model] for model in models) for kind, _ in whole}
    ordered = sorted((kind for kind, judged in types.items() if judged), key=lambda kind: (-types[kind], kind))
    shown_types = ordered[: options.rows]
    ends = {(kind, model): wilson(part[kind, model], whole[kind, model]) for kind in shown_types for model in models}
    return FigureData(
        figure="metric-by-type",
        title=f"{_label(metric)} by type of task",
        measure=f"{_label(metric)}, share of the judged calls",
        row_name="type",
        column_name="model",
        rows=tuple(shown_types),
        columns=tuple(models),
        values=tuple(
            tuple(part[kind, model] / whole[kind, model] if whole[kind, model] else None for model in models)
            for kind in shown_types
        ),
        low=tuple(tuple(ends[kind, model][0] for model in models) for kind in shown_types),
        high=tuple(tuple(ends[kind, model][1] for model in models) for kind in shown_types),
        interval=WILSON,
        counts=tuple(tuple(whole[kind, model] for model in models) for kind in shown_types),
        notes=(*one_model_note(models), *_more(len(ordered) - len(shown_types), len(models))),
    )


def _more(types: int, models: int) -> tuple[str, ...]:
    left_out = [f"{types} more types are not shown (--rows)."] if types > 0 else []
    if models > len(SERIES):
        left_out.append(
            f"The first {len(SERIES)} of {models} models are drawn (--model names others); the data has all."
        )
    return tuple(left_out)


def _label(metric: str) -> str:
    return {AVERAGE: "average score", "well-formed": "well formed"}.get(metric, metric.replace("_", " "))


def draw(data: FigureData, canvas: Canvas) -> None:
    """Dots beside each other within a type; at most as many models as there are markers."""
    models = data.columns[: len(SERIES)]
    step = 0.8 / max(len(models), 1)
    (axes,) = canvas.axes(5.2, 0.95 + (0.2 + 0.13 * len(models)) * max(len(data.rows), 1))
    for column, model in enumerate(models):
        colour, marker = SERIES[column]
        places = [row + (column - (len(models) - 1) / 2) * step for row in range(len(data.rows))]
        drawn = [
            (value[column], place, row) for row, (value, place) in enumerate(zip(data.values, places, strict=True))
        ]
        for value, place, row in drawn:
            low, high = _end(data.low, row, column), _end(data.high, row, column)
            if value is not None and low is not None and high is not None:
                axes.plot([low, high], [place, place], color=colour, lw=1.3 * canvas.scale, solid_capstyle="butt")
        axes.plot(
            [value for value, _, _ in drawn if value is not None],
            [place for value, place, _ in drawn if value is not None],
            marker=marker,
            ls="",
            color=colour,
            markeredgecolor="white",
            markeredgewidth=0.6,
            ms=6 * canvas.scale,
            label=shown(model),
        )
    for line in range(1, len(data.rows)):
        axes.axhline(line - 0.5, color=FRAME, lw=0.5, alpha=0.5)
    axes.set_yticks(range(len(data.rows)), [shown(name) for name in data.rows])
    axes.set_ylim(len(data.rows) - 0.45, -0.55)
    axes.set_xlim(-0.02, 1.02)
    axes.grid(axis="x", color=FRAME, alpha=0.35, lw=0.6)
    axes.tick_params(axis="y", length=0)
    canvas.label(f"{data.measure} ({data.interval})")
    canvas.figure.legend(loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)


def _end(cells: Cells | None, row: int, column: int) -> float | None:
    return cells[row][column] if cells is not None else None
