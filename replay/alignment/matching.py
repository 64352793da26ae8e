"""Which predicted call stands for which reference call: the optimal assignment within each tool name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from replay.alignment.signature import SignedCall
from replay.records.alignment import MatchTriple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]

_FORBIDDEN = 1e6
"""Cost of a pair below tau_weak, as in the published evaluator: as few as possible are chosen, then dropped."""


@dataclass(frozen=True)
class Block:
    """All calls of one tool, in one task."""

    name: str
    reference: tuple[int, ...]
    """Call numbers: the rows."""
    predicted: tuple[int, ...]
    """Call numbers: the columns."""
    similarity: NDArray[np.float32]
    """Cosine in [-1, 1], shape (rows, columns)."""


def texts_to_embed(reference: Sequence[SignedCall], predicted: Sequence[SignedCall]) -> set[str]:
    """The signatures that need a vector: of tools on both sides, unless all of the tool's calls are equal."""
    needed: set[str] = set()
    theirs = by_name(predicted)
    for name, calls in by_name(reference).items():
        texts = {call.signature for call in (*calls, *theirs.get(name, ()))}
        if name in theirs and len(texts) > 1:
            needed |= texts
    return needed


def blocks_of(reference: Sequence[SignedCall], predicted: Sequence[SignedCall], vectors: Vectors) -> tuple[Block, ...]:
    """The similarities of every pair of calls that could match, tool by tool in the order of the reference."""
    theirs = by_name(predicted)
    return tuple(
        Block(
            name,
            tuple(call.index for call in calls),
            tuple(call.index for call in theirs[name]),
            _similarities([call.signature for call in calls], [call.signature for call in theirs[name]], vectors),
        )
        for name, calls in by_name(reference).items()
        if name in theirs
    )


def match(blocks: Iterable[Block], tau_weak: float) -> tuple[MatchTriple, ...]:
    """The chosen pairs of all blocks, ordered by reference call. Equation 1 of the paper, with cost 1 - S."""
    return tuple(sorted(pair for block in blocks for pair in _match_block(block, tau_weak)))


def by_name(calls: Iterable[SignedCall]) -> dict[str, list[SignedCall]]:
    """Calls under their tool name, in order."""
    groups: dict[str, list[SignedCall]] = defaultdict(list)
    for call in calls:
        groups[call.name].append(call)
    return dict(groups)


def _similarities(rows: list[str], columns: list[str], vectors: Vectors) -> NDArray[np.float32]:
    """Cosines in 32 bits. Summed in 64, so that equal texts get equal numbers wherever they stand."""
    import numpy as np

    if len({*rows, *columns}) == 1:
        return np.ones((len(rows), len(columns)), np.float32)
    left = np.stack([vectors[text] for text in rows]).astype(np.float64)
    right = np.stack([vectors[text] for text in columns]).astype(np.float64)
    cosines = np.clip(left @ right.T, -1.0, 1.0)
    cosines[np.asarray(rows, object)[:, None] == np.asarray(columns, object)[None, :]] = 1.0
    return cosines.astype(np.float32)


def _match_block(block: Block, tau_weak: float) -> list[MatchTriple]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    allowed = block.similarity >= np.float32(tau_weak)
    if not allowed.any():
        return []
    cost = np.where(allowed, 1 - block.similarity, np.float32(_FORBIDDEN))
    return [
        (block.reference[row], block.predicted[column], float(block.similarity[row, column]))
        for row, column in zip(*linear_sum_assignment(cost), strict=True)
        if allowed[row, column]
    ]
