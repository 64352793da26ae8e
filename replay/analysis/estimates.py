"""The estimates of each measure: of a model, from the sums of its tasks, and of the difference of two models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import correlation

import numpy as np

from replay.analysis.measures import AVERAGED, AVERAGED_IN_STRATA, MEASURES, RATIOS
from replay.analysis.statistics import (
    CONFIDENCE,
    TIMES,
    Numbers,
    PairedTest,
    Resampling,
    figure_of,
    holm,
    paired_tests,
    task_values,
    wilson,
)
from replay.analysis.task_runs import TaskRuns
from replay.records.alignment import JudgeScores
from replay.records.comparison import Figure, ModelDifference, Spread
from replay.records.rating import GAP


@dataclass(frozen=True)
class TaskSums:
    """What a model did, task by task, all runs of a task together."""

    tasks: tuple[str, ...]
    parts: Numbers
    """A row a task, a column a ratio."""
    wholes: Numbers

    def of(self, tasks: Sequence[str]) -> TaskSums:
        """Some of the tasks, in the order given."""
        row_of = {task: row for row, task in enumerate(self.tasks)}
        rows = [row_of[task] for task in tasks]
        return TaskSums(tuple(tasks), self.parts[rows], self.wholes[rows])

    def knowing(self, metric: str) -> TaskSums:
        """The tasks of which a measure is known."""
        column = RATIOS.index("recall" if metric == "average" else metric)
        return self.of([self.tasks[row] for row in np.flatnonzero(self.wholes[:, column] > 0)])


def sums_by_task(tasks: Sequence[str], sums: Numbers) -> TaskSums:
    """The sums of a model's tasks, in the order of the tasks' ids.

    Args:
        tasks: the task of each run.
        sums: of each run, as `sums_of` has them.
    """
    unique, rows = np.unique(np.array(tasks, dtype=object), return_inverse=True)
    summed: Numbers = np.zeros((len(unique), 2, len(RATIOS)))
    np.add.at(summed, rows, sums)
    return TaskSums(tuple(unique), summed[:, 0], summed[:, 1])


def sums_by_model(table: TaskRuns, sums: Numbers) -> dict[str, TaskSums]:
    """The sums of each model's tasks.

    Args:
        table: the runs of tasks.
        sums: of each run, as `sums_of` has them.
    """
    return {
        model: sums_by_task([table.runs[row].task for row in rows], sums[rows])
        for model, rows in table.by_model.items()
    }


def figures_of(sums: TaskSums, *, in_stratum: bool = False, judge: JudgeScores | None = None) -> dict[str, Figure]:
    """Every figure that is known: shares with Wilson's interval, means with one by resampling the tasks.

    Args:
        sums: of a model, or of a model in a stratum.
        in_stratum: the average is that of the paper's tables by task type, not that of its overall table.
        judge: what a judge gave for the model as a whole; it counts before the mean over its tasks, as in `align`.
    """
    parts, wholes = sums.parts.sum(axis=0).tolist(), sums.wholes.sum(axis=0).tolist()
    counts = (sums.wholes > 0).sum(axis=0).tolist()
    figures: dict[str, Figure] = {}
    means = [column for column, name in enumerate(RATIOS) if wholes[column] and MEASURES[name].kind == "mean"]
    resampling = Resampling(len(sums.tasks))
    drawn = resampling.ratios(sums.parts[:, means], sums.wholes[:, means])
    draws = {RATIOS[column]: drawn[:, number] for number, column in enumerate(means)}
    intervals = dict(zip(means, resampling.intervals(drawn), strict=True))
    for column, (name, part, whole) in enumerate(zip(RATIOS, parts, wholes, strict=True)):
        if column in intervals:
            figure = figure_of(part / whole, counts[column], intervals[column])
            figures[name] = figure.model_copy(update={"deviation": _deviation(_values(sums, name))})
        elif whole:
            figures[name] = figure_of(part / whole, round(whole), wilson(part, whole))
    given = (("completion", judge.completion_rate), ("grounding", judge.information_grounding_rate)) if judge else ()
    for name, value in given:
        if value is not None and (name not in figures or abs(figures[name].value - value) > 1e-9):
            figures[name] = Figure(value=value, n=len(sums.tasks))
            draws[name] = np.full(TIMES, value)
    if "recall" in figures:
        averaged = [name for name in (AVERAGED_IN_STRATA if in_stratum else AVERAGED) if name in figures]
        value = sum(figures[name].value for name in averaged) / len(averaged)
        interval = resampling.interval(np.mean([draws[name] for name in averaged], axis=0))
        figures["average"] = figure_of(value, figures["recall"].n, interval)
    return {name: figures[name] for name in MEASURES if name in figures}


def _values(sums: TaskSums, name: str) -> Numbers:
    """A ratio task by task; NaN where it is not known of a task."""
    column = RATIOS.index(name)
    with np.errstate(invalid="ignore", divide="ignore"):
        values: Numbers = sums.parts[:, column] / sums.wholes[:, column]
    return values


def _deviation(values: Numbers) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if len(known) > 1 else None


def correlation_of(sums: TaskSums) -> float | None:
    """Pearson's correlation of MCPEval's two scores over the tasks; None where they do not both vary."""
    both: Numbers = np.stack([_values(sums, name) for name in GAP])
    both = both[:, ~np.isnan(both).any(axis=0)]
    if both.shape[1] < 2 or not both.std(axis=1).all():
        return None
    return correlation(*both.tolist())


def spread_of(each: Sequence[TaskSums]) -> dict[str, Spread] | None:
    """Every figure run by run; None where no task was run twice.

    Args:
        each: the sums of the model's first runs of its tasks, of its second ones, and so on.
    """
    if len(each) == 1:
        return None
    figures_by_run = [figures_of(sums) for sums in each]
    found: dict[str, Spread] = {}
    for name in MEASURES:
        values = [figures[name].value for figures in figures_by_run if name in figures]
        if len(values) > 1:
            mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
            found[name] = Spread(values=tuple(values), mean=mean, deviation=deviation)
    return found


def values_by_task(sums: TaskSums, metric: str) -> Numbers:
    """What each task contributes to a measure: a row a task, a column for each ratio that it is the mean of."""
    columns = [RATIOS.index(name) for name in (AVERAGED if metric == "average" else (metric,))]
    return task_values(sums.parts[:, columns], sums.wholes[:, columns])


def differences_of(sums: Mapping[str, TaskSums], metric: str) -> tuple[ModelDifference, ...]:
    """Every pair of models that have a task in common, the surest difference first.

    Args:
        sums: by model.
        metric: the measure.
    """
    pairs = _tested({model: own.knowing(metric) for model, own in sums.items()}, metric)
    corrected = holm([test.p_value for _, _, test in pairs])
    found = [
        ModelDifference(
            measure=metric,
            first=first,
            second=second,
            tasks=test.tasks,
            difference=test.difference,
            low=test.interval.low if test.interval else None,
            high=test.interval.high if test.interval else None,
            p_value=test.p_value,
            corrected_p_value=p_value,
            beyond_chance=p_value < 1 - CONFIDENCE,
        )
        for (first, second, test), p_value in zip(pairs, corrected, strict=True)
    ]
    return tuple(sorted(found, key=lambda pair: (pair.p_value, -abs(pair.difference))))


def _tested(sums: Mapping[str, TaskSums], metric: str) -> list[tuple[str, str, PairedTest]]:
    """Pairs with the same tasks in common are tested together."""
    tasks = {model: frozenset(own.tasks) for model, own in sums.items()}
    by_tasks: dict[frozenset[str], list[tuple[str, str]]] = defaultdict(list)
    for first, second in combinations(sums, 2):
        by_tasks[tasks[first] & tasks[second]].append((first, second))
    found = []
    for common, pairs in by_tasks.items():
        if not common:
            continue
        ordered = sorted(common)
        values = {model: values_by_task(sums[model].of(ordered), metric) for model in {*sum(pairs, ())}}
        known = [(pair, _mean(values[pair[0]] - values[pair[1]])) for pair in pairs]
        usable = [(pair, column) for pair, column in known if column is not None]
        if usable:
            tests = paired_tests(np.stack([column for _, column in usable], axis=1))
            found += [(*pair, test) for (pair, _), test in zip(usable, tests, strict=True)]
    return found


def _mean(differences: Numbers) -> Numbers | None:
    """Over the columns that both models have; None where there is none."""
    both = ~np.isnan(differences).any(axis=0)
    return differences[:, both].mean(axis=1) if both.any() else None
