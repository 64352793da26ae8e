"""Intervals and tests: of shares, of sums over tasks, of pairs, and of two-by-two tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.errors import MissingExtraError, install_command
from replay.records.comparison import Figure

CONFIDENCE: Final = 0.95
QUANTILE: Final = 1.959963984540054
"""Of the normal distribution: how many standard errors the interval reaches to each side."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def wilson(part: float, whole: float) -> Interval | None:
    """Wilson's score interval of a share.

    Args:
        part: how many trials had the property.
        whole: how many trials there were.

    Returns:
        None where there was no trial.
    """
    if whole <= 0:
        return None
    share, weight = part / whole, QUANTILE**2 / whole
    centre = (share + weight / 2) / (1 + weight)
    reach = QUANTILE * math.sqrt(share * (1 - share) / whole + weight / (4 * whole)) / (1 + weight)
    low = 0.0 if part <= 0 else max(0.0, centre - reach)
    return Interval(low, 1.0 if part >= whole else min(1.0, centre + reach))


def figure_of(value: float, n: int, interval: Interval | None) -> Figure:
    """A measure's value, of so many trials or tasks, with its interval where there is one."""
    low, high = interval or (None, None)
    return Figure(value=value, n=n, low=low, high=high)


Numbers: TypeAlias = NDArray[np.float64]
TIMES: Final = 1000
SEED: Final = 20251117


@lru_cache(maxsize=16)
def _draws(tasks: int) -> Numbers:
    """How often each task is drawn: a row a draw, `TIMES` of them."""
    counts = np.random.default_rng(SEED).multinomial(tasks, np.full(tasks, 1 / tasks), size=TIMES)
    return counts.astype(np.float64)


@dataclass(frozen=True)
class Resampling:
    """The same tasks drawn again and again, with replacement; for one number of tasks always the same draws.

    Args:
        tasks: how many there are.
    """

    tasks: int

    def sums(self, values: Numbers) -> Numbers:
        """The sum over the tasks of each draw: a row a draw.

        Args:
            values: a row a task, a column a figure; or one figure.
        """
        return _draws(self.tasks) @ values

    def ratios(self, parts: Numbers, wholes: Numbers) -> Numbers:
        """The ratio of each draw; NaN where its wholes sum to nothing.

        Args:
            parts: a row a task, a column a figure; or one figure.
            wholes: likewise.
        """
        summed, whole = self.sums(parts), self.sums(wholes)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole != 0, summed / whole, np.nan)

    def interval(self, values: Numbers) -> Interval | None:
        """The middle 95 % of the draws' values; None with fewer than two tasks."""
        return self.intervals(values[:, None])[0]

    def intervals(self, values: Numbers) -> list[Interval | None]:
        """Those of several figures: a row a draw, a column a figure; NaN counts as no value."""
        known = (column[~np.isnan(column)] for column in values.T)
        return [Interval(*_middle(own).tolist()) if own.size and self.tasks > 1 else None for own in known]


def _middle(values: Numbers) -> Numbers:
    ends: Numbers = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends


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
        wholes: likewise; the values are NaN where a column sums to nothing.
    """
    whole = wholes.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(whole != 0, parts.sum(axis=0) / whole, np.nan)
        values: Numbers = value + (parts - value * wholes) * (len(parts) / whole)
    return values


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
    draws = Resampling(tasks).sums(differences) / tasks
    lows, highs = _middle(draws)
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


def _exact(differences: Numbers) -> Numbers:
    count = len(differences)
    signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    least = np.abs(differences.sum(axis=0)) * (1 - 1e-12)
    shares: Numbers = (np.abs(signs @ differences) >= least).mean(axis=0)
    return shares


def _scipy_stats() -> Any:
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtraError(install_command("stats"), "A test of whether models or runs differ") from None
    return stats


def _t_test(differences: Numbers) -> Numbers:
    ttest_1samp = _scipy_stats().ttest_1samp
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):  # of pairs that do not differ at all
        p_values: Numbers = np.nan_to_num(ttest_1samp(differences, 0.0).pvalue, nan=1.0)
    return p_values


def mcnemar(first_only: int, second_only: int) -> float:
    """The p-value of McNemar's exact test: whether pairs that changed changed one way more often than the other.

    Args:
        first_only: pairs of which the first alone has the property.
        second_only: pairs of which the second alone has it.
    """
    changed = first_only + second_only
    return float(_scipy_stats().binomtest(first_only, changed).pvalue) if changed else 1.0


class OddsRatio(NamedTuple):
    """How much the odds of one thing rise with another."""

    value: float
    interval: Interval
    p_value: float
    """Two-sided, by Fisher's exact test."""


def odds_ratio(both: int, first_only: int, second_only: int, neither: int) -> OddsRatio | None:
    """The odds ratio of two properties.

    The sample's odds ratio with Woolf's interval; where a cell is empty, one half is added to each (Haldane, Anscombe).

    Args:
        both: how many have both.
        first_only: how many have the first alone.
        second_only: how many have the second alone.
        neither: how many have none.

    Returns:
        None where a property is everywhere or nowhere: there is nothing to compare.
    """
    cells = [both, first_only, second_only, neither]
    if not (both + first_only and second_only + neither and both + second_only and first_only + neither):
        return None
    a, b, c, d = (cell + 0.5 for cell in cells) if 0 in cells else map(float, cells)
    logarithm, error = math.log(a * d / (b * c)), math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    low, high = math.exp(logarithm - QUANTILE * error), math.exp(logarithm + QUANTILE * error)
    p_value = _scipy_stats().fisher_exact([[both, first_only], [second_only, neither]]).pvalue
    return OddsRatio(math.exp(logarithm), Interval(low, high), float(p_value))
