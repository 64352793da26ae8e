"""Figures that are a ratio of sums over tasks, with intervals by drawing the tasks again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.analysis.shares import CONFIDENCE, Interval

Numbers: TypeAlias = NDArray[np.float64]
TIMES: Final = 1000
SEED: Final = 20251117
_MAX_AT_ONCE: Final = 2_000_000
"""Numbers of draws that are held as floats: 16 MB."""


def ratio(parts: Numbers, wholes: Numbers) -> float | None:
    """The sum of the parts over the sum of the wholes; None where that is nothing."""
    whole = float(wholes.sum())
    return float(parts.sum()) / whole if whole else None


class Resampling:
    """The same tasks drawn again and again, with replacement; for one number of tasks always the same draws.

    Args:
        tasks: how many there are.
        times: how often they are drawn.
    """

    def __init__(self, tasks: int, times: int = TIMES) -> None:
        self.tasks, self.times = tasks, times

    @cached_property
    def _counts(self) -> NDArray[np.uint8 | np.uint16]:
        """How often each task was drawn: a row a draw."""
        generator = np.random.default_rng(SEED)
        shares = np.full(self.tasks, 1 / self.tasks)
        counts = np.empty((self.times, self.tasks), np.uint8 if self.tasks < 256 else np.uint16)
        for rows in self._blocks():
            counts[rows] = generator.multinomial(self.tasks, shares, size=len(counts[rows]))
        return counts

    def _blocks(self) -> Iterator[slice]:
        """Draws of which so many numbers are held at once."""
        size = max(1, _MAX_AT_ONCE // self.tasks)
        yield from (slice(start, start + size) for start in range(0, self.times, size))

    @property
    def bytes_held(self) -> int:
        """What the draws take in memory."""
        return self.times * self.tasks * (1 if self.tasks < 256 else 2)

    def sums(self, values: Numbers) -> Numbers:
        """The sum over the tasks of each draw: a row a draw.

        Args:
            values: a row a task, a column a figure; or one figure.
        """
        return np.concatenate([self._counts[rows].astype(np.float64) @ values for rows in self._blocks()])

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
        found: list[Interval | None] = [None] * values.shape[1]
        if self.tasks < 2:
            return found
        absent = np.isnan(values)
        whole = np.flatnonzero(~absent.any(axis=0))
        if whole.size:
            for column, low, high in zip(whole, *_middle(values[:, whole]).tolist(), strict=True):
                found[column] = Interval(low, high)
        for column in np.flatnonzero(absent.any(axis=0) & ~absent.all(axis=0)):
            low, high = _middle(values[~absent[:, column], column]).tolist()
            found[column] = Interval(low, high)
        return found


def _middle(values: Numbers) -> Numbers:
    ends: Numbers = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return ends
