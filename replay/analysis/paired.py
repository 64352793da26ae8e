"""Whether two models differ beyond chance, by the tasks that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from replay.analysis.ratios import Numbers, Resampling
from replay.analysis.shares import CONFIDENCE, Interval

MAX_EXACT: Final = 12
"""Tasks up to which every way to swap the two models is tried out."""


class PairedTest(NamedTuple):
    """The difference of two models on the same tasks."""

    tasks: int
    difference: float
    """First minus second."""
    interval: Interval | None
    p_value: float
    """Of no difference; 1 with fewer than two tasks."""


def task_values(parts: Numbers, wholes: Numbers) -> Numbers:
    """What each task contributes to a ratio of sums: values whose mean is the ratio.

    They are the ratio's linear approximation in the tasks, so that a difference of ratios is a mean of differences.

    Args:
        parts: a row a task, a column a figure.
        wholes: likewise; NaN comes out where a column sums to nothing.
    """
    whole = wholes.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(whole != 0, parts.sum(axis=0) / whole, np.nan)
        values: Numbers = value + (parts - value * wholes) * (len(parts) / whole)
    return values


def paired_test(first: Numbers, second: Numbers) -> PairedTest:
    """Test one difference over tasks: see `paired_tests`.

    Args:
        first: values of one model, one a task.
        second: those of the other, task by task.
    """
    return paired_tests((first - second)[:, None])[0]


def paired_tests(differences: Numbers) -> list[PairedTest]:
    """Test differences over the same tasks.

    Up to `MAX_EXACT` tasks by the randomisation test over all ways to swap the models of a task, else by the paired
    t-test; the intervals are by resampling the tasks.

    Args:
        differences: a row a task, a column a pair of models.
    """
    tasks = len(differences)
    if tasks < 2:
        return [PairedTest(tasks, float(column.sum()), None, 1.0) for column in differences.T]
    means = differences.mean(axis=0)
    draws = resampling_of(tasks).sums(differences) / tasks
    lows, highs = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    p_values = _exact(differences) if tasks <= MAX_EXACT else _t_test(differences)
    rows = zip(means.tolist(), lows.tolist(), highs.tolist(), p_values.tolist(), strict=True)
    return [PairedTest(tasks, mean, Interval(low, high), p_value) for mean, low, high, p_value in rows]


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for being many, after Holm; in the order given."""
    corrected = [1.0] * len(p_values)
    greatest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        greatest = max(greatest, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = greatest
    return corrected


_RESAMPLINGS: Final[dict[int, Resampling]] = {}
_MAX_HELD: Final = 64_000_000
"""Bytes of draws that are kept; those that were used last stay."""


def resampling_of(tasks: int) -> Resampling:
    """The draws for a number of tasks, made once, but for those that take much memory together."""
    found = _RESAMPLINGS.pop(tasks, None) or Resampling(tasks)
    held = sum(other.bytes_held for other in _RESAMPLINGS.values())
    while _RESAMPLINGS and held + found.bytes_held > _MAX_HELD:
        held -= _RESAMPLINGS.pop(next(iter(_RESAMPLINGS))).bytes_held
    _RESAMPLINGS[tasks] = found
    return found


def _exact(differences: Numbers) -> Numbers:
    count = len(differences)
    signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    least = np.abs(differences.sum(axis=0)) * (1 - 1e-12)
    shares: Numbers = (np.abs(signs @ differences) >= least).mean(axis=0)
    return shares


def _t_test(differences: Numbers) -> Numbers:
    from scipy.special import stdtr

    count, means = len(differences), np.abs(differences.mean(axis=0))
    errors = differences.std(axis=0, ddof=1) / count**0.5
    with np.errstate(invalid="ignore", divide="ignore"):
        tested: Numbers = 2 * stdtr(count - 1, -means / errors)
    return np.where(errors == 0, np.where(means == 0, 1.0, 0.0), tested)
