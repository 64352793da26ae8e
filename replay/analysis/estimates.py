"""The figures of one model, from the sums of its tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from replay.analysis.measures import AVERAGED, AVERAGED_IN_STRATA, MEASURES, RATIOS, place_of
from replay.analysis.statistics import (
    CONFIDENCE,
    TIMES,
    Interval,
    Numbers,
    PairedTest,
    Resampling,
    holm,
    paired_tests,
    resampling_of,
    task_values,
    wilson,
)
from replay.records.alignment import JudgeScores
from replay.records.comparison import Figure, ModelDifference, Spread

_BATCH: Final = 64
"""Models whose tasks are drawn at once: fewer, larger products, and yet little memory."""
_MAX_TASKS: Final = 50_000
"""Tasks of such models together."""
_MEANS: Final = [place_of(name) for name in RATIOS if MEASURES[name].kind == "mean"]


@dataclass(frozen=True)
class TaskSums:
    """What a model did, task by task, all runs of a task together."""

    tasks: tuple[str, ...]
    parts: Numbers
    """A row a task, a column a ratio."""
    wholes: Numbers

    def of(self, tasks: Sequence[str]) -> TaskSums:
        """Some of the tasks, in the order given."""
        rows = [self.tasks.index(task) for task in tasks] if len(tasks) < 20 else self._rows(tasks)
        return TaskSums(tuple(tasks), self.parts[rows], self.wholes[rows])

    def knowing(self, metric: str) -> TaskSums:
        """The tasks of which a measure is known."""
        column = place_of("recall" if metric == "average" else metric)
        known = self.wholes[:, column] > 0
        tasks = tuple(task for task, has in zip(self.tasks, known, strict=True) if has)
        return TaskSums(tasks, self.parts[known], self.wholes[known])

    def _rows(self, tasks: Sequence[str]) -> list[int]:
        places = {task: place for place, task in enumerate(self.tasks)}
        return [places[task] for task in tasks]


def sums_by_task(tasks: Sequence[str], sums: Numbers) -> TaskSums:
    """The sums of a model's tasks, in the order of the tasks' ids.

    Args:
        tasks: the task of each run.
        sums: of each run, as `sums_of` has them.
    """
    order = sorted(range(len(tasks)), key=tasks.__getitem__)
    unique = tuple(dict.fromkeys(tasks[run] for run in order))
    places = {task: place for place, task in enumerate(unique)}
    summed: Numbers = np.zeros((len(unique), 2, len(RATIOS)))
    np.add.at(summed, [places[tasks[run]] for run in order], sums[order])
    return TaskSums(unique, summed[:, 0], summed[:, 1])


def figures_of(
    each: Sequence[TaskSums], *, in_stratum: bool = False, judges: Sequence[JudgeScores | None] | None = None
) -> list[dict[str, Figure]]:
    """Every figure that is known: shares with Wilson's interval, means with one by resampling the tasks.

    Args:
        each: the sums of each model, or of each in a stratum.
        in_stratum: the average is that of the paper's tables by task type, not that of its overall table.
        judges: what a judge gave for each model as a whole, used where it gave nothing by task.
    """
    found: list[dict[str, Figure]] = [{} for _ in each]
    by_count: dict[int, list[int]] = defaultdict(list)
    for place, sums in enumerate(each):
        by_count[len(sums.tasks)].append(place)
    averaged = AVERAGED_IN_STRATA if in_stratum else AVERAGED
    for count, places in by_count.items():
        size = min(_BATCH, max(1, _MAX_TASKS // max(count, 1)))
        for start in range(0, len(places) if count else 0, size):
            batch = places[start : start + size]
            given = [judges[place] if judges else None for place in batch]
            figures = _figures([each[place] for place in batch], given, averaged)
            for place, one in zip(batch, figures, strict=True):
                found[place] = one
    return found


def _figures(
    batch: Sequence[TaskSums], judges: Sequence[JudgeScores | None], averaged: Sequence[str]
) -> list[dict[str, Figure]]:
    """Of models with equally many tasks: the tasks are drawn for all at once, and so are the intervals made."""
    resampling = resampling_of(len(batch[0].tasks))
    means = [mean for mean in _MEANS if any(sums.wholes[:, mean].any() for sums in batch)]
    drawn = _drawn(batch, means, resampling)
    intervals = resampling.intervals(drawn)
    averages: Numbers = np.full((resampling.times, len(batch)), np.nan)
    found = []
    for place, (sums, judge) in enumerate(zip(batch, judges, strict=True)):
        columns = slice(place * len(means), (place + 1) * len(means))
        figures = _known_figures(sums, dict(zip(means, intervals[columns], strict=True)))
        draws = dict(zip((RATIOS[mean] for mean in means), drawn[:, columns].T, strict=True))
        _add_judged(figures, judge, draws, len(sums.tasks))
        if "recall" in figures:
            averages[:, place] = np.mean([draws[name] for name in averaged if name in figures], axis=0)
        found.append(figures)
    for figures, interval in zip(found, resampling.intervals(averages), strict=True):
        if "recall" in figures:
            known = [figures[name].value for name in averaged if name in figures]
            figures["average"] = _figure(sum(known) / len(known), figures["recall"].n, interval)
    return [{name: figures[name] for name in MEASURES if name in figures} for figures in found]


def _drawn(batch: Sequence[TaskSums], means: Sequence[int], resampling: Resampling) -> Numbers:
    """The means of each draw of the tasks: a row a draw, the columns of one model beside those of the next."""
    parts, wholes = (
        np.concatenate([getattr(sums, side)[:, means] for sums in batch], axis=1) for side in ("parts", "wholes")
    )
    return resampling.ratios(parts, wholes)


def _known_figures(sums: TaskSums, of_mean: Mapping[int, Interval | None]) -> dict[str, Figure]:
    parts, wholes = sums.parts.sum(axis=0).tolist(), sums.wholes.sum(axis=0).tolist()
    counts = (sums.wholes > 0).sum(axis=0).tolist()
    return {
        name: _figure(part / whole, counts[place], of_mean[place])
        if place in of_mean
        else _figure(part / whole, round(whole), wilson(part, whole))
        for place, (name, part, whole) in enumerate(zip(RATIOS, parts, wholes, strict=True))
        if whole
    }


def _figure(value: float, n: int, interval: Interval | None) -> Figure:
    low, high = interval or (None, None)
    return Figure(value=value, n=n, low=low, high=high)


def _add_judged(found: dict[str, Figure], judge: JudgeScores | None, drawn: dict[str, Numbers], tasks: int) -> None:
    """What a judge gave for the model as a whole counts before the mean over its tasks, as in `align`."""
    given = (("completion", judge.completion_rate), ("grounding", judge.information_grounding_rate)) if judge else ()
    for name, value in given:
        if value is not None and (name not in found or abs(found[name].value - value) > 1e-9):
            found[name] = Figure(value=value, n=tasks)
            drawn[name] = np.full(TIMES, value)


def spread_of(each: Sequence[TaskSums]) -> dict[str, Spread] | None:
    """Every figure run by run; None where no task was run twice.

    Args:
        each: the sums of the model's first runs of its tasks, of its second ones, and so on.
    """
    if len(each) == 1:
        return None
    figures_by_run = figures_of(each)
    found: dict[str, Spread] = {}
    for name in MEASURES:
        values = [figures[name].value for figures in figures_by_run if name in figures]
        if len(values) > 1:
            mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
            found[name] = Spread(values=tuple(values), mean=mean, deviation=deviation)
    return found


def values_by_task(sums: TaskSums, metric: str) -> Numbers:
    """What each task contributes to a measure: a row a task, a column for each ratio that it is the mean of."""
    columns = [place_of(name) for name in (AVERAGED if metric == "average" else (metric,))]
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
