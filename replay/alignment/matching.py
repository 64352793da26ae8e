"""Which predicted call stands for which reference call: the optimal assignment within each tool name.

Of a tool's calls in a task, those of the reference are the rows of a matrix of similarities and the predicted ones its
columns. For the assignment the matrix is made square: each row may stay without a partner, and so may each column, at a
cost above that of any number of pairs. All costs are whole numbers far below 2**53, so that sums are exact and two
assignments are equally good on every machine or on none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.alignment.tasks import SignedCall
from replay.errors import MissingExtraError, install_command
from replay.records.alignment import MatchTriple, TieChoice

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Vectors: TypeAlias = Mapping[str, NDArray[np.float32]]

UNITS = 1_000_000
"""Similarities are compared in millionths; the encoder's own noise is up to 2.5e-7."""


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
    for _, rows, columns in by_tool(reference, predicted):
        texts = {call.signature for call in (*rows, *columns)}
        if len(texts) > 1:
            needed |= texts
    return needed


def blocks_by_tool(
    reference: Sequence[SignedCall], predicted: Sequence[SignedCall], vectors: Vectors
) -> tuple[Block, ...]:
    """The similarities of every pair of calls that could match, tool by tool in the order of the reference."""
    return tuple(
        Block(
            name,
            Side(tuple(rows)),
            Side(tuple(columns)),
            _similarities([call.signature for call in rows], [call.signature for call in columns], vectors),
        )
        for name, rows, columns in by_tool(reference, predicted)
    )


def match_blocks(blocks: Iterable[Block], tau_weak: float, ties: TieChoice = "rule") -> tuple[MatchedBlock, ...]:
    """Solve each block: equation 1 of the paper, with cost 1 - S."""
    return tuple(_match_block(block, tau_weak, ties) for block in blocks)


def match(blocks: Iterable[Block], tau_weak: float) -> tuple[MatchTriple, ...]:
    """The chosen pairs of all blocks, ordered by reference call."""
    return matches_of(match_blocks(blocks, tau_weak))


def matches_of(blocks: Iterable[MatchedBlock]) -> tuple[MatchTriple, ...]:
    """The chosen pairs of solved blocks, ordered by reference call."""
    return tuple(sorted(pair for block in blocks for pair in block.matches))


def by_tool(
    first: Iterable[SignedCall], second: Iterable[SignedCall]
) -> Iterator[tuple[str, list[SignedCall], list[SignedCall]]]:
    """The tools that both sides call, in the order of the first, with the calls of each side."""
    groups: dict[str, tuple[list[SignedCall], list[SignedCall]]] = defaultdict(lambda: ([], []))
    for side, calls in enumerate((first, second)):
        for call in calls:
            groups[call.name][side].append(call)
    return ((name, *calls) for name, calls in groups.items() if all(calls))


def _similarities(rows: list[str], columns: list[str], vectors: Vectors) -> NDArray[np.float32]:
    """Cosines in 32 bits, computed once for two texts, so that equal texts get equal numbers wherever they stand."""
    if len({*rows, *columns}) == 1:
        return np.ones((len(rows), len(columns)), np.float32)
    place = {text: number for number, text in enumerate(dict.fromkeys([*rows, *columns]))}
    stacked = np.stack([vectors[text] for text in place]).astype(np.float64)
    cosines = np.clip(stacked @ stacked.T, -1.0, 1.0).astype(np.float32)
    np.fill_diagonal(cosines, 1.0)
    return cosines[[[place[text]] for text in rows], [place[text] for text in columns]]


def _match_block(block: Block, tau_weak: float, ties: TieChoice) -> MatchedBlock:
    """The pairs of a block. Where several assignments are equally good, `choose` says which is taken, and why."""
    rows, columns = block.rows.in_order, block.columns.in_order
    similarity = block.ordered_similarity
    optimal = optimal_assignments(similarity, tau_weak)
    if ties == "published" and not optimal.only_one:
        return MatchedBlock(block, _published_choice(block, tau_weak), optimal)
    chosen = choose(optimal, [call.step for call in rows], [call.step for call in columns])
    matches = ((rows[row].index, columns[column].index, float(similarity[row, column])) for row, column in chosen)
    return MatchedBlock(block, tuple(matches), optimal)


def _published_choice(block: Block, tau_weak: float) -> tuple[MatchTriple, ...]:
    """The pairs that the released evaluator takes: the first solution for costs of 32 bits, the calls as they stand.

    What is left of its choice to the machine is whether equal texts got equal vectors there; here they do.
    """
    similarity = block.similarity
    allowed = similarity >= np.float32(tau_weak)
    cost = np.where(allowed, np.float32(1.0) - similarity, np.float32(UNITS)).astype(np.float64)
    rows, columns = block.rows.calls, block.columns.calls
    pairs = [(row, column) for row, column in zip(*_linear_sum_assignment(cost), strict=True) if allowed[row, column]]
    return tuple((rows[row].index, columns[column].index, float(similarity[row, column])) for row, column in pairs)


@dataclass(frozen=True)
class OptimalAssignments:
    """Every way to pair rows with columns that is as good as the best."""

    rows: int
    columns: int
    edges: Flags
    """Square, of rows + columns lines. An assignment of all lines is optimal if and only if it keeps to these edges;
    an edge to a line behind the real ones leaves a call without a partner."""
    count: int
    """Pairs in each of them."""

    @property
    def pairs(self) -> Flags:
        """The edges that pair a row with a column."""
        return self.edges[: self.rows, : self.columns]

    @property
    def only_one(self) -> bool:
        """Nothing is left to choose."""
        return int(self.pairs.sum()) == self.count

    def may_stay_alone(self) -> tuple[Flags, Flags]:
        """The rows, and the columns, that some equally good assignment may leave without a partner."""
        return self.edges[: self.rows, self.columns], self.edges[self.rows, : self.columns]


def optimal_assignments(similarity: NDArray[np.float32], tau_weak: float) -> OptimalAssignments:
    """The assignments with the most pairs of at least tau_weak, and of those the ones with the greatest sum."""
    rows, columns = similarity.shape
    allowed = similarity >= np.float32(tau_weak)
    if allowed.sum(axis=0).max() <= 1 and allowed.sum(axis=1).max() <= 1:
        return _without_rivals(allowed)
    alone = UNITS * (rows + columns)
    cost = np.full((rows + columns, rows + columns), float(alone))
    cost[:rows, :columns] = np.where(allowed, np.rint((1.0 - similarity.astype(np.float64)) * UNITS), np.inf)
    cost[rows:, columns:] = 0.0
    chosen, edges = _cheapest(cost)
    return OptimalAssignments(rows, columns, edges, int((chosen[:rows] < columns).sum()))


def narrow(found: OptimalAssignments, cost: Floats) -> OptimalAssignments:
    """Of these assignments the ones whose pairs cost least.

    Args:
        found: the assignments.
        cost: of each pair of a row and a column, in whole numbers; a call without a partner costs nothing.
    """
    whole = np.where(found.edges, 0.0, np.inf)
    whole[: found.rows, : found.columns] += cost
    return OptimalAssignments(found.rows, found.columns, _cheapest(whole)[1], found.count)


def first_in_order(found: OptimalAssignments) -> list[tuple[int, int]]:
    """The pairs of one assignment: row by row, each gets the first column that the rows before leave possible."""
    pairs = found.pairs
    if not found.only_one:
        edges = found.edges.copy()
        for row in range(found.rows):
            if edges[row].sum() > 1:
                cost = np.where(edges, 0.0, np.inf)
                cost[row] += np.minimum(np.arange(len(edges)), found.columns)
                column = _linear_sum_assignment(cost)[1][row]
                edges[row] = np.arange(len(edges)) == column
        pairs = edges[: found.rows, : found.columns]
    return [(int(row), int(column)) for row, column in np.argwhere(pairs)]


def choose(found: OptimalAssignments, row_steps: Sequence[int], column_steps: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs that are taken: most in the same step; then steps nearest; then the first in the order of the lines.

    Nearest is the least sum of squared distances: two crossed pairs always have a greater one than the same calls
    uncrossed, so that no pairs stay crossed that could as well be in order.
    """
    if found.only_one:
        return first_in_order(found)
    distance = np.subtract.outer(np.asarray(row_steps, np.float64), np.asarray(column_steps, np.float64))
    for cost in (np.where(distance == 0, 0.0, 1.0), distance**2):
        if cost.min() < cost.max():
            found = narrow(found, cost)
    return first_in_order(found)


def _without_rivals(allowed: Flags) -> OptimalAssignments:
    """The only assignment where no call has two candidates."""
    rows, columns = allowed.shape
    edges = np.ones((rows + columns, rows + columns), bool)
    edges[:rows, :columns] = allowed
    edges[:rows, columns:] = ~np.any(allowed, axis=1, keepdims=True)
    edges[rows:, :columns] = ~np.any(allowed, axis=0)
    return OptimalAssignments(rows, columns, edges, int(allowed.sum()))


def _cheapest(cost: Floats) -> tuple[NDArray[np.intp], Flags]:
    """The column of each row in one cheapest assignment, and the edges to which all of them keep.

    Linear programming: with potentials u, v such that u + v <= cost everywhere, with equality on one assignment, the
    cheapest assignments are those that use only edges with equality. The potentials are shortest distances: u_i may be
    at most u_k + cost(i, column of k) - cost(k, column of k).
    """
    rows, columns = _linear_sum_assignment(cost)
    paid = cost[rows, columns]
    steps = cost[:, columns] - paid
    left = np.zeros(len(cost))
    while not np.array_equal(shorter := (left + steps).min(axis=1), left):
        left = shorter
    right = np.empty(len(cost))
    right[columns] = paid - left
    return columns, cost == left[:, None] + right


def _linear_sum_assignment(cost: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """One cheapest assignment, as rows and their columns."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingExtraError(install_command("stats"), "The pairing of calls") from None
    rows, columns = linear_sum_assignment(cost)
    return rows, columns
