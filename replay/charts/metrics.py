"""Charts of metrics with their intervals: the leaderboard, supported scores, and a metric by type of task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from replay.analysis.audit import audit
from replay.analysis.statistics import Resampling, wilson
from replay.charts.options import ChartOptions, best_first, chosen_models, cut_off, judged_calls, one_model_note
from replay.charts.style import SERIES
from replay.errors import UsageError
from replay.records import Outcome
from replay.records.alignment import COLUMNS, AlignedTask, Scores
from replay.records.alignment import METRICS as ALIGNED
from replay.records.audit import AuditedModel
from replay.records.chart import Chart
from replay.records.comparison import ModelComparison
from replay.records.summary import ModelSummary
from replay.runfile import Run
from replay.runfile.alignment_queries import aligned_models, aligned_tasks
from replay.runfile.summary import breakdown, model_counts
from replay.suggestions import nearest_name

AVERAGE: Final = "average"
OUTCOME_METRICS: Final = {"success": (Outcome.SUCCESS,), "well-formed": (Outcome.SUCCESS, Outcome.NOT_FOUND)}
METRICS: Final = (AVERAGE, *Scores.model_fields, *OUTCOME_METRICS)
_NO_TYPE: Final = "(no type)"
Key = TypeVar("Key")
_WILSON: Final = "95 %, Wilson"
_BOOTSTRAP: Final = "95 %, bootstrap over tasks"
Ends: TypeAlias = tuple[float | None, float | None]
"""Of an interval; None where there is too little to tell."""


def leaderboard(run: Run, options: ChartOptions) -> Chart:
    """One value a model, the best first: the average score, or well-formed calls where nothing was aligned."""
    models = chosen_models(run, options)
    wanted = {model.model for model in models}
    aligned = [(file, model) for file, model in aligned_models(run.connection).items() if model.model in wanted]
    if not aligned:
        return _well_formed(best_first(models))
    aligned.sort(key=lambda pair: -pair[1].average_score)
    # with a judge's column there is no value a task to draw from
    ends = [
        (None, None) if model.judge is not None else bootstrap(aligned_tasks(run.connection, file), COLUMNS)
        for file, model in aligned
    ]
    return Chart(
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
        interval=_BOOTSTRAP,
        totals=tuple(model.aggregate.num_ids for _, model in aligned),
        notes=one_model_note(aligned),
    )


def _well_formed(models: Sequence[ModelSummary]) -> Chart:
    ends = [_wilson(model.well_formed, model.conclusive) for model in models]
    return Chart(
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
        interval=_WILSON,
        counts=tuple((model.well_formed,) for model in models),
        totals=tuple(model.conclusive for model in models),
        notes=(*one_model_note(models), "The run is not aligned with a reference: no average score is known."),
    )


def leaderboard_of(comparison: ModelComparison) -> Chart | None:
    """The models of a comparison by its metric, in its order; None where no model has a value of it."""
    measure = next((measure for measure in comparison.measures if measure.id == comparison.metric), None)
    if measure is None:
        return None
    values = [model.figures.get(measure.id) for model in comparison.models]
    counts = tuple((None if value is None else round(value.value * value.n),) for value in values)
    return Chart(
        figure="leaderboard",
        title=f"Leaderboard: {measure.label}, with 95 % intervals",
        measure=measure.about,
        row_name="model",
        column_name="score",
        rows=tuple(model.model for model in comparison.models),
        columns=(measure.label,),
        values=tuple((None if value is None else value.value,) for value in values),
        low=tuple((None if value is None else value.low,) for value in values),
        high=tuple((None if value is None else value.high,) for value in values),
        counts=counts if measure.kind == "share" else None,
    )


def supported(run: Run, options: ChartOptions) -> Chart:
    """The reported success of each model, and the interval that the evidence supports."""
    chosen = {model.model for model in chosen_models(run, options)}
    return supported_of([model for model in audit(run).models if model.model in chosen])


def supported_of(models: Sequence[AuditedModel]) -> Chart:
    """The models of an audit, in its order."""
    ends = [model.supported or (None, None) for model in models]
    unknown = all(model.reported is None for model in models)
    return Chart(
        figure="supported",
        title="Tasks passed as reported, and what the evidence supports",
        measure="share of the reported runs of tasks that passed",
        row_name="model",
        column_name="score",
        rows=tuple(model.model for model in models),
        columns=("tasks passed",),
        values=tuple((model.reported,) for model in models),
        low=tuple((low,) for low, _ in ends),
        high=tuple((high,) for _, high in ends),
        interval="undecided tasks counted as lost, and as passed",
        counts=tuple((model.passed,) for model in models),
        totals=tuple(model.runs for model in models),
        notes=(*one_model_note(models), *(("The files do not say which tasks passed.",) if unknown else ())),
    )


def metric_by_type(run: Run, options: ChartOptions) -> Chart:
    """A metric of the alignment (by default their average), or a share of the judged calls where nothing was aligned.

    Raises:
        UsageError: a metric that there is not, or that the run does not have.
    """
    metric = options.metric
    if metric is not None and metric not in METRICS:
        nearest = nearest_name(metric, METRICS)
        meant = f"; did you mean {nearest}?" if nearest else ""
        raise UsageError(f"there is no metric {metric!r}{meant}; there are {', '.join(METRICS)}")
    models = [model.model for model in chosen_models(run, options)]
    aligned = {file: model for file, model in aligned_models(run.connection).items() if model.model in models}
    if metric in OUTCOME_METRICS or (metric is None and not aligned):
        return _of_outcomes(run, options, metric or "well-formed", models)
    if not aligned:
        raise UsageError(
            f"{run.path} is not aligned with a reference, so {metric} is not known; see replay align --help"
        )
    if (
        metric is not None
        and metric in ALIGNED
        and any(getattr(model.aggregate, metric) is None for model in aligned.values())
    ):
        raise UsageError(f"{run.path} was aligned by a version that did not know {metric}; align it again")
    return _of_alignment(run, options, metric or AVERAGE, {file: model.model for file, model in aligned.items()})


class _Cell(NamedTuple):
    value: float | None
    ends: Ends
    n: int


def _of_alignment(run: Run, options: ChartOptions, metric: str, files: dict[int, str]) -> Chart:
    metrics = COLUMNS if metric == AVERAGE else (metric,)
    groups: dict[tuple[str, int], list[AlignedTask]] = {}
    types: Counter[str] = Counter()
    for file in files:
        for task in aligned_tasks(run.connection, file):
            groups.setdefault((task.type or _NO_TYPE, file), []).append(task)
            types[task.type or _NO_TYPE] += 1

    def cell(kind: str, file: int) -> _Cell:
        tasks = groups.get((kind, file), [])
        return _Cell(_score(tasks, metrics), bootstrap(tasks, metrics), len(tasks))

    ordered = [kind for kind, _ in types.most_common()]
    return _by_type(_label(metric), _label(metric), _BOOTSTRAP, ordered, files, cell, options)


def _score(tasks: Sequence[AlignedTask], metrics: Sequence[str]) -> float | None:
    if not tasks:
        return None
    from replay.alignment.metrics import aggregate

    scores = aggregate(tasks)
    return float(sum(getattr(scores, name) for name in metrics) / len(metrics))


def _of_outcomes(run: Run, options: ChartOptions, metric: str, models: Sequence[str]) -> Chart:
    part: Counter[tuple[str, str]] = Counter()
    whole: Counter[tuple[str, str]] = Counter()
    types: Counter[str] = Counter()
    for counts in model_counts(run.connection):
        for group in breakdown(run.connection, "task_type", counts.files) if counts.model in models else ():
            kind, judged = group.names[0] or _NO_TYPE, judged_calls(group.outcomes)
            part[kind, counts.model] += sum(group.outcomes.get(outcome, 0) for outcome in OUTCOME_METRICS[metric])
            whole[kind, counts.model] += judged
            types[kind] += judged

    def cell(kind: str, model: str) -> _Cell:
        good, judged = part[kind, model], whole[kind, model]
        return _Cell(good / judged if judged else None, _wilson(good, judged), judged)

    ordered = sorted(filter(types.get, types), key=lambda kind: (-types[kind], kind))
    measure = f"{_label(metric)}, share of the judged calls"
    return _by_type(_label(metric), measure, _WILSON, ordered, {model: model for model in models}, cell, options)


def _by_type(
    label: str,
    measure: str,
    interval: str,
    types: Sequence[str],
    models: Mapping[Key, str],
    cell: Callable[[str, Key], _Cell],
    options: ChartOptions,
) -> Chart:
    rows, note = cut_off(types, options.rows, "types")
    if len(models) > len(SERIES):
        drawn = f"The first {len(SERIES)} of {len(models)} models are drawn (--model names others); the data has all."
        note = (*note, drawn)
    cells = [[cell(kind, key) for key in models] for kind in rows]
    return Chart(
        figure="metric-by-type",
        title=f"{label} by type of task",
        measure=measure,
        row_name="type",
        column_name="model",
        rows=rows,
        columns=tuple(models.values()),
        values=tuple(tuple(each.value for each in row) for row in cells),
        low=tuple(tuple(each.ends[0] for each in row) for row in cells),
        high=tuple(tuple(each.ends[1] for each in row) for row in cells),
        interval=interval,
        counts=tuple(tuple(each.n for each in row) for row in cells),
        cell_totals=tuple(tuple(each.n for each in row) for row in cells),
        notes=(*one_model_note(tuple(models)), *note),
    )


def _label(metric: str) -> str:
    return {AVERAGE: "average score", "well-formed": "well formed"}.get(metric, metric.replace("_", " "))


def _wilson(part: int, whole: int) -> Ends:
    return wilson(part, whole) or (None, None)


def bootstrap(tasks: Sequence[AlignedTask], metrics: Sequence[str]) -> Ends:
    """The interval of the mean of some aggregated metrics, over tasks drawn again and again.

    Args:
        tasks: of one model.
        metrics: fields of `Scores`, aggregated as `replay align` does.

    Returns:
        Nothing where there are fewer than two tasks.
    """
    if not tasks:
        return None, None
    matched = np.array([task.matched for task in tasks], dtype=float)
    parts, wholes = [], []
    for metric in metrics:
        scores = np.array([getattr(task, metric) for task in tasks], dtype=float)
        wholes.append(np.array(list(map(ALIGNED[metric].weight, tasks)), dtype=float))
        parts.append(matched if ALIGNED[metric].counts_matches else scores * wholes[-1])
    resampling = Resampling(len(tasks))
    drawn = np.nan_to_num(resampling.ratios(np.column_stack(parts), np.column_stack(wholes)))
    return resampling.interval(drawn.mean(axis=1)) or (None, None)
