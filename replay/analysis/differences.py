"""Which differences between models are beyond chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from replay.analysis.figures import TaskSums, values_by_task
from replay.analysis.paired import PairedTest, holm, paired_tests
from replay.analysis.ratios import Numbers
from replay.analysis.shares import CONFIDENCE
from replay.records.model_comparison import ModelDifference


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
