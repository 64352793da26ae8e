"""How far the result hangs on the two thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replay.alignment.aligner import Alignment
from replay.alignment.matching import match
from replay.records.alignment import MatchTriple, SweepRow

VALUES = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
"""0.5 to 0.95."""


def sweep(alignment: Alignment) -> tuple[SweepRow, ...]:
    """Pairs, recall and precision at each value of tau_weak, and of tau_strong at the tau_weak in use.

    For each tau_weak the assignment is solved anew; a tau_strong only counts the pairs that are at least so similar.
    """
    return (*_weak(alignment), *_strong(alignment))


def _weak(alignment: Alignment) -> Iterator[SweepRow]:
    for value in VALUES:
        matches = (match(blocks, value) for blocks in alignment.blocks.values())
        yield _row(alignment, "tau_weak", value, sum(map(len, matches)))


def _strong(alignment: Alignment) -> Iterator[SweepRow]:
    for value in VALUES:
        yield _row(alignment, "tau_strong", value, sum(_at_least(task.matches, value) for task in alignment.tasks))


def _at_least(matches: Iterable[MatchTriple], value: float) -> int:
    return sum(similarity >= value for _, _, similarity in matches)


def _row(alignment: Alignment, threshold: str, value: float, pairs: int) -> SweepRow:
    counts = alignment.model.aggregate
    return SweepRow(
        threshold="tau_weak" if threshold == "tau_weak" else "tau_strong",
        value=value,
        pairs=pairs,
        recall=pairs / counts.total_gt_calls if counts.total_gt_calls else 0.0,
        precision=pairs / counts.total_pred_calls if counts.total_pred_calls else 0.0,
    )
