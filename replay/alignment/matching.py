"""Which predicted call stands for which reference call: the optimal assignment within each tool name."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Side:
    """The calls of one tool on one side, and an order of theirs that does not hang on the order within a step."""

    numbers: tuple[int, ...]
    steps: tuple[int, ...]
    settled: tuple[int, ...]
    """Places in `numbers`."""


@dataclass(frozen=True)
class Block:
    """All calls of one tool, in one task."""

    name: str
    rows: Side
    columns: Side
    similarity: NDArray[np.float32]
    """Cosine in [-1, 1], shape (rows, columns)."""

    @property
    def reference(self) -> tuple[int, ...]:
        """Call numbers: the rows."""
        return self.rows.numbers

    @property
    def predicted(self) -> tuple[int, ...]:
        """Call numbers: the columns."""
        return self.columns.numbers


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
            side(calls, _signature, backwards=True),
            side(theirs[name], _digest, backwards=False),
            _similarities([call.signature for call in calls], [call.signature for call in theirs[name]], vectors),
        )
        for name, calls in by_name(reference).items()
        if name in theirs
    )


def side(calls: Sequence[SignedCall], by_text: Callable[[SignedCall], str], *, backwards: bool) -> Side:
    """One side of a block; the settled order is by step, then by a text of the call, equal calls in their own order."""
    places = sorted(range(len(calls)), key=lambda place: by_text(calls[place]), reverse=backwards)
    places.sort(key=lambda place: calls[place].step)
    return Side(tuple(call.index for call in calls), tuple(call.step for call in calls), tuple(places))


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


def _signature(call: SignedCall) -> str:
    return call.signature


def _digest(call: SignedCall) -> str:
    return hashlib.sha256(call.signature.encode("utf-8", "surrogatepass")).hexdigest()


def _match_block(block: Block, tau_weak: float) -> list[MatchTriple]:
    """The best pairs. Where several assignments are equally good, one that the order within a step does not change.

    The assignment on the calls as they stand is taken, unless the one in the settled order matches other steps. Which
    of them is right nobody can say (in the published evaluator the rounding of the last bit decides); this settled
    order is arbitrary, and was taken because it agrees with all the published figures we have.
    """
    import numpy as np

    allowed = block.similarity >= np.float32(tau_weak)
    if not allowed.any():
        return []
    cost = np.where(allowed, 1 - block.similarity, np.float32(_FORBIDDEN))
    plain = _assign(cost, range(len(block.rows.numbers)), range(len(block.columns.numbers)))
    settled = _assign(cost, block.rows.settled, block.columns.settled)
    chosen = plain if _landings(block, plain) == _landings(block, settled) else settled
    return [
        (block.rows.numbers[row], block.columns.numbers[column], float(block.similarity[row, column]))
        for row, column in chosen
    ]


def _assign(cost: NDArray[np.float32], rows: Sequence[int], columns: Sequence[int]) -> list[tuple[int, int]]:
    """Row and column of each pair of the optimal assignment on a cost matrix with its lines in the given order."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    found = zip(*linear_sum_assignment(cost[np.ix_(rows, columns)]), strict=True)
    pairs = ((rows[row], columns[column]) for row, column in found)
    return [pair for pair in pairs if cost[pair] < _FORBIDDEN]


def _landings(block: Block, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """What the metrics see of the pairs."""
    return sorted(
        (block.rows.steps[row], block.columns.steps[column], round(float(block.similarity[row, column]), 6))
        for row, column in pairs
    )
