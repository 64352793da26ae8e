"""95 % intervals: Wilson's for shares, the bootstrap over tasks for metrics. Seeds are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.records.alignment import AlignedTask

WILSON: Final = "95 %, Wilson"
BOOTSTRAP: Final = "95 %, bootstrap over tasks"
_RESAMPLES: Final = 1000
_SEED: Final = 20250101
_MIN_TASKS: Final = 2


def wilson(part: int, whole: int) -> tuple[float | None, float | None]:
    """The interval of a share; nothing where it is a share of nothing."""
    if not whole:
        return None, None
    from scipy.stats import binomtest

    found = binomtest(part, whole).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def bootstrap(tasks: Sequence[AlignedTask], metrics: Sequence[str]) -> tuple[float | None, float | None]:
    """The interval of the mean of some aggregated metrics, over tasks drawn again and again.

    Args:
        tasks: of one model.
        metrics: fields of `Scores`, aggregated as `replay align` does: precision over the predicted calls, the others
            over the reference's.

    Returns:
        Nothing where there are fewer than two tasks.
    """
    if len(tasks) < _MIN_TASKS:
        return None, None
    import numpy as np

    reference = np.array([task.total_gt_calls for task in tasks], dtype=float)
    predicted = np.array([task.total_pred_calls for task in tasks], dtype=float)
    matched = np.array([task.matched for task in tasks], dtype=float)
    drawn = np.random.default_rng(_SEED).integers(0, len(tasks), (_RESAMPLES, len(tasks)))
    values = np.zeros(_RESAMPLES)
    for metric in metrics:
        whole = predicted if metric == "precision" else reference
        scores = np.array([getattr(task, metric) for task in tasks], dtype=float)
        part = matched if metric in {"precision", "recall"} else scores * reference
        wholes = whole[drawn].sum(axis=1)
        values += np.divide(part[drawn].sum(axis=1), wholes, out=np.zeros(_RESAMPLES), where=wholes > 0)
    low, high = np.percentile(values / len(metrics), [2.5, 97.5])
    return float(low), float(high)
