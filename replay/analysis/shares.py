"""A share of independent trials, with its interval."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

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
