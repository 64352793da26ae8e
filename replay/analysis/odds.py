"""The odds ratio of a two-by-two table, with its interval and Fisher's exact test."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from replay.analysis.shares import QUANTILE, Interval


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
    return OddsRatio(math.exp(logarithm), Interval(low, high), _fisher(both, first_only, second_only, neither))


def _fisher(both: int, first_only: int, second_only: int, neither: int) -> float:
    """The probability of all tables with these margins that are no likelier than this one."""
    from scipy.special import gammaln

    first, second, total = both + first_only, both + second_only, both + first_only + second_only + neither
    counts = np.arange(max(0, first + second - total), min(first, second) + 1)
    cells = (counts, first - counts, second - counts, total - first - second + counts)
    logarithms = -sum(gammaln(cell + 1) for cell in cells)
    likelihoods = np.exp(logarithms - logarithms.max())
    here = likelihoods[both - counts[0]]
    return min(1.0, float(likelihoods[likelihoods <= here * (1 + 1e-9)].sum() / likelihoods.sum()))
