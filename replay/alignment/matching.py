"""Which predicted call stands for which reference call: the optimal assignment within each tool name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from replay.alignment.assignment import OptimalAssignments, choose, optimal_assignments
from replay.alignment.signature import SignedCall
from replay.records.alignment import MatchTriple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Side:
    """The calls of one tool on one side, in the order of the file."""

    calls: tuple[SignedCall, ...]

    @cached_property
    def canonical_order(self) -> tuple[int, ...]:
        """Places in `calls`: by step, then by text. It does not hang on the order within a step."""
        return tuple(
            sorted(range(len(self.calls)), key=lambda place: (self.calls[place].step, self.calls[place].signature))
        )

    @property
    def in_order(self) -> list[SignedCall]:
        """The calls in canonical order."""
        return [self.calls[place] for place in self.canonical_order]


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
        return tuple(call.index for call in self.rows.calls)

    @property
    def predicted(self) -> tuple[int, ...]:
        """Call numbers: the columns."""
        return tuple(call.index for call in self.columns.calls)

    @property
    def ordered_similarity(self) -> NDArray[np.float32]:
        """The similarities with both sides in canonical order."""
        import numpy as np

        return self.similarity[np.ix_(self.rows.canonical_order, self.columns.canonical_order)]


@dataclass(frozen=True)
class MatchedBlock:
    """A block with the pairs that were chosen, and what else was as good."""

    block: Block
    matches: tuple[MatchTriple, ...]
    optimal: OptimalAssignments
    """Its lines are the calls in canonical order."""


def texts_to_embed(reference: Sequence[SignedCall], predicted: Sequence[SignedCall]) -> set[str]:
    """The signatures that need a vector: of tools on both sides, unless all of the tool's calls are equal."""
    needed: set[str] = set()
    predicted_by_name = by_name(predicted)
    for name, calls in by_name(reference).items():
        texts = {call.signature for call in (*calls, *predicted_by_name.get(name, ()))}
        if name in predicted_by_name and len(texts) > 1:
            needed |= texts
    return needed


def blocks_of(reference: Sequence[SignedCall], predicted: Sequence[SignedCall], vectors: Vectors) -> tuple[Block, ...]:
    """The similarities of every pair of calls that could match, tool by tool in the order of the reference."""
    predicted_by_name = by_name(predicted)
    return tuple(
        Block(
            name,
            Side(tuple(calls)),
            Side(tuple(predicted_by_name[name])),
            _similarities(
                [call.signature for call in calls], [call.signature for call in predicted_by_name[name]], vectors
            ),
        )
        for name, calls in by_name(reference).items()
        if name in predicted_by_name
    )


def match_blocks(blocks: Iterable[Block], tau_weak: float) -> tuple[MatchedBlock, ...]:
    """Solve each block: equation 1 of the paper, with cost 1 - S."""
    return tuple(_match_block(block, tau_weak) for block in blocks)


def match(blocks: Iterable[Block], tau_weak: float) -> tuple[MatchTriple, ...]:
    """The chosen pairs of all blocks, ordered by reference call."""
    return matches_of(match_blocks(blocks, tau_weak))


def matches_of(blocks: Iterable[MatchedBlock]) -> tuple[MatchTriple, ...]:
    """The chosen pairs of solved blocks, ordered by reference call."""
    return tuple(sorted(pair for block in blocks for pair in block.matches))


def by_name(calls: Iterable[SignedCall]) -> dict[str, list[SignedCall]]:
    """Calls under their tool name, in order."""
    groups: dict[str, list[SignedCall]] = defaultdict(list)
    for call in calls:
        groups[call.name].append(call)
    return dict(groups)


def _similarities(rows: list[str], columns: list[str], vectors: Vectors) -> NDArray[np.float32]:
    """Cosines in 32 bits, computed once for two texts, so that equal texts get equal numbers wherever they stand."""
    import numpy as np

    if len({*rows, *columns}) == 1:
        return np.ones((len(rows), len(columns)), np.float32)
    place = {text: number for number, text in enumerate(dict.fromkeys([*rows, *columns]))}
    stacked = np.stack([vectors[text] for text in place]).astype(np.float64)
    cosines = np.clip(stacked @ stacked.T, -1.0, 1.0).astype(np.float32)
    np.fill_diagonal(cosines, 1.0)
    return cosines[[[place[text]] for text in rows], [place[text] for text in columns]]


def _match_block(block: Block, tau_weak: float) -> MatchedBlock:
    """The pairs of a block. Where several assignments are equally good, `choose` says which is taken, and why."""
    rows, columns = block.rows.in_order, block.columns.in_order
    similarity = block.ordered_similarity
    optimal = optimal_assignments(similarity, tau_weak)
    chosen = choose(optimal, [call.step for call in rows], [call.step for call in columns])
    matches = ((rows[row].index, columns[column].index, float(similarity[row, column])) for row, column in chosen)
    return MatchedBlock(block, tuple(matches), optimal)
