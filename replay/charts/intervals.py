"""The intervals that figures show, as pairs of ends; none where there is too little to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from replay.analysis.statistics import Resampling
from replay.analysis.statistics import wilson as interval_of_share
from replay.records.alignment import AlignedTask

WILSON: Final = "95 %, Wilson"
BOOTSTRAP: Final = "95 %, bootstrap over tasks"


def wilson(part: int, whole: int) -> tuple[float | None, float | None]:
    """The interval of a share; nothing where it is a share of nothing."""
    return interval_of_share(part, whole) or (None, None)


def bootstrap(tasks: Sequence[AlignedTask], metrics: Sequence[str]) -> tuple[float | None, float | None]:
    """The interval of the mean of some aggregated metrics, over tasks drawn again and again.

    Args:
        tasks: of one model.
        metrics: fields of `Scores`, aggregated as `replay align` does: precision over the predicted calls, the others
            over the reference's.

    Returns:
        Nothing where there are fewer than two tasks.
    """
    if not tasks:
        return None, None
    import numpy as np

    reference, predicted, matched = (
        np.array([getattr(task, name) for task in tasks], dtype=float)
        for name in ("total_gt_calls", "total_pred_calls", "matched")
    )
    parts, wholes = [], []
    for metric in metrics:
        scores = np.array([getattr(task, metric) for task in tasks], dtype=float)
        parts.append(matched if metric in {"precision", "recall"} else scores * reference)
        wholes.append(predicted if metric == "precision" else reference)
    resampling = Resampling(len(tasks))
    drawn = np.nan_to_num(resampling.ratios(np.column_stack(parts), np.column_stack(wholes)))
    return resampling.interval(drawn.mean(axis=1)) or (None, None)
