"""The figures of one model, from the sums of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from replay.models.measures import AVERAGED, AVERAGED_IN_STRATA, MEASURES, RATIOS, place_of, sums_of
from replay.models.task_runs import TaskRun
from replay.records.alignment import JudgeScores
from replay.records.model_comparison import Figure, Spread
from replay.statistics import wilson
from replay.statistics.paired import resampling_of, task_values
from replay.statistics.ratios import Numbers

_MEANS = [place_of(name) for name in RATIOS if MEASURES[name].kind == "mean"]


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


def sums_by_task(runs: Iterable[TaskRun]) -> TaskSums:
    """The sums of a model's tasks, in the order of the tasks' ids."""
    ordered = sorted(runs, key=lambda run: run.task)
    tasks = tuple(dict.fromkeys(run.task for run in ordered))
    places = {task: place for place, task in enumerate(tasks)}
    summed: Numbers = np.zeros((len(tasks), 2, len(RATIOS)))
    if ordered:
        np.add.at(summed, [places[run.task] for run in ordered], np.array([sums_of(run) for run in ordered]))
    return TaskSums(tasks, summed[:, 0], summed[:, 1])


def figures_of(sums: TaskSums, *, in_stratum: bool = False, judge: JudgeScores | None = None) -> dict[str, Figure]:
    """Every figure that is known: shares with Wilson's interval, means with one by resampling the tasks.

    Args:
        sums: of the model.
        in_stratum: the average is that of the paper's tables by task type, not that of its overall table.
        judge: what a judge gave for the model as a whole, used where it gave nothing by task.
    """
    found: dict[str, Figure] = {}
    if not sums.tasks:
        return found
    parts, wholes = sums.parts.sum(axis=0), sums.wholes.sum(axis=0)
    resampling = resampling_of(len(sums.tasks))
    draws = resampling.ratios(sums.parts[:, _MEANS], sums.wholes[:, _MEANS])
    drawn = {RATIOS[place]: draws[:, column] for column, place in enumerate(_MEANS)}
    for name, part, whole, column in zip(RATIOS, parts, wholes, sums.wholes.T, strict=True):
        if not whole:
            continue
        if MEASURES[name].kind == "share":
            interval, n = wilson(part, whole), round(whole)
        else:
            interval, n = resampling.interval(drawn[name]), int((column > 0).sum())
        low, high = interval or (None, None)
        found[name] = Figure(value=float(part / whole), n=n, low=low, high=high)
    _add_judged(found, judge, drawn, len(sums.tasks))
    columns = [name for name in (AVERAGED_IN_STRATA if in_stratum else AVERAGED) if name in found]
    if "recall" in found:
        values = np.mean([drawn[name] for name in columns], axis=0)
        low, high = resampling.interval(values) or (None, None)
        mean = sum(found[name].value for name in columns) / len(columns)
        found["average"] = Figure(value=mean, n=found["recall"].n, low=low, high=high)
    return {name: found[name] for name in MEASURES if name in found}


def _add_judged(found: dict[str, Figure], judge: JudgeScores | None, drawn: dict[str, Numbers], tasks: int) -> None:
    """What a judge gave for the model as a whole counts before the mean over its tasks, as in `align`."""
    given = (("completion", judge.completion_rate), ("grounding", judge.information_grounding_rate)) if judge else ()
    for name, value in given:
        if value is not None and (name not in found or abs(found[name].value - value) > 1e-9):
            found[name] = Figure(value=value, n=tasks)
            drawn[name] = np.full_like(drawn[name], value)


def spread_of(runs: Sequence[TaskRun]) -> dict[str, Spread] | None:
    """Every figure run by run; None where no task was run twice."""
    count = max(run.number for run in runs) + 1
    if count == 1:
        return None
    each = [figures_of(sums_by_task(run for run in runs if run.number == number)) for number in range(count)]
    found: dict[str, Spread] = {}
    for name in MEASURES:
        values = [figures[name].value for figures in each if name in figures]
        if len(values) > 1:
            mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
            found[name] = Spread(values=tuple(values), mean=mean, deviation=deviation)
    return found


def values_by_task(sums: TaskSums, metric: str) -> Numbers:
    """What each task contributes to a measure: a row a task, a column for each ratio that it is the mean of."""
    columns = [place_of(name) for name in (AVERAGED if metric == "average" else (metric,))]
    return task_values(sums.parts[:, columns], sums.wholes[:, columns])
