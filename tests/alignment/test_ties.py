"""Equally good assignments: which one is taken, and what the others would give, against all of them written out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from replay.alignment.aligner import AlignmentSettings, align_task
from replay.alignment.matching import UNITS, Block, MatchedBlock, Side, blocks_by_tool, match_blocks, texts_to_embed
from replay.alignment.tasks import SignedCall
from replay.alignment.ties import STEP_METRICS, StepPairs, model_ties, step_pairs, task_ties
from replay.records.alignment import AlignedTask

from .builders import matches, task, vectors

TAU_WEAK = 0.6
SIMILARITIES = st.sampled_from([0.5, 0.7, 0.8, 0.9])
CALLS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=4).map(sorted)
Chosen = tuple[tuple[int, int], ...]


def side(calls: list[tuple[int, str]]) -> Side:
    return Side(tuple(SignedCall(n, step, f"c{n}", "t", text, {}, True) for n, (step, text) in enumerate(calls)))


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    """Calls of few steps and texts, their similarities those of their texts: many ties."""
    rows, columns = draw(CALLS), draw(CALLS)
    table = {(mine, theirs): draw(SIMILARITIES) for mine in "ab" for theirs in "ab"}
    grid = [[table[mine, theirs] for _, theirs in columns] for _, mine in rows]
    return Block("t", side(rows), side(columns), np.asarray(grid, np.float32))


def optimal_by_trying_all(block: Block) -> list[Chosen]:
    rows, columns = block.similarity.shape
    best = (0, 0)
    found: list[Chosen] = [()]
    for choice in _all_choices(rows, columns):
        values = [block.similarity[pair] for pair in choice]
        if any(value < np.float32(TAU_WEAK) for value in values):
            continue
        rank = (len(choice), sum(_units(value) for value in values))
        if rank > best:
            best, found = rank, []
        if rank == best:
            found.append(choice)
    return found


def _all_choices(rows: int, columns: int) -> Iterator[Chosen]:
    for count in range(1, min(rows, columns) + 1):
        for mine in combinations(range(rows), count):
            for theirs in permutations(range(columns), count):
                yield tuple(zip(mine, theirs, strict=True))


def _units(value: Any) -> int:
    return round(float(value) * UNITS)


def _steps(block: Block, choice: Chosen) -> list[tuple[int, int]]:
    return [(block.rows.calls[row].step, block.columns.calls[column].step) for row, column in choice]


def _rank(block: Block, choice: Chosen) -> tuple[int, int]:
    steps = _steps(block, choice)
    return -sum(mine == theirs for mine, theirs in steps), sum((mine - theirs) ** 2 for mine, theirs in steps)


def _step_pairs(block: Block, choice: Chosen) -> StepPairs:
    units = [_units(block.similarity[pair]) for pair in choice]
    return tuple(sorted((*steps, value) for steps, value in zip(_steps(block, choice), units, strict=True)))


@given(blocks())
@settings(max_examples=300)
def test_the_one_taken_is_optimal_with_most_pairs_in_the_same_step_and_then_the_nearest_steps(block: Block) -> None:
    everything = optimal_by_trying_all(block)
    (found,) = match_blocks([block], TAU_WEAK)
    chosen = tuple((row, column) for row, column, _ in sorted(found.matches))
    assert chosen in everything
    assert _rank(block, chosen) == min(_rank(block, choice) for choice in everything)


@given(blocks())
@settings(max_examples=300)
def test_all_optimal_assignments_are_enumerated_and_no_others(block: Block) -> None:
    (found,) = match_blocks([block], TAU_WEAK)
    pairs, complete = step_pairs(found, limit=1000)
    assert complete
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == {_step_pairs(block, choice) for choice in optimal_by_trying_all(block)}


def tied(rows: list[tuple[int, str]], columns: list[tuple[int, str]]) -> MatchedBlock:
    """Solved, where all calls are equally similar."""
    grid = np.ones((len(rows), len(columns)), np.float32)
    return match_blocks([Block("t", side(rows), side(columns), grid)], TAU_WEAK)[0]


def test_equal_calls_exchanged_within_a_step_are_no_tie() -> None:
    block = tied([(0, "a")], [(0, "a"), (0, "a")])
    assert not block.optimal.only_one
    assert task_ties(matches([1], 2, [(0, 0, 1.0)]), [block], "published") is None


def test_the_range_of_a_task_holds_what_each_choice_would_give() -> None:
    # A second tool is called in step 0 on both sides; the tied call may stand in its step or in the next one.
    block, other = tied([(0, "a")], [(0, "a"), (1, "a")]), tied([(0, "b")], [(0, "b")])
    ties = task_ties(matches([2], 3, [(0, 0, 1.0), (0, 0, 1.0)]), [block, other], "published")
    assert ties is not None
    assert (ties.assignments, ties.complete) == (2, True)
    assert (ties.step_coherence.least, ties.step_coherence.greatest) == (0.5, 1.0)
    assert (ties.merge_purity.least, ties.merge_purity.greatest) == (1.0, 1.0)


def test_what_is_not_enumerated_is_said() -> None:
    steps = [(step, "a") for step in range(6)]
    block = tied(steps, steps)
    task_matches = matches([1] * 6, 6, [(step, step, 1.0) for step in range(6)])
    everything = task_ties(task_matches, [block], "published", limit=1000)
    some = task_ties(task_matches, [block], "published", limit=10)
    assert everything is not None
    assert some is not None
    assert (everything.assignments, everything.complete) == (720, True)
    assert everything.order_consistency.least == 0.0
    assert (some.assignments, some.complete) == (10, False)
    assert some.order_consistency.greatest == 1.0
    assert some.order_consistency.least >= everything.order_consistency.least


def test_the_range_of_a_model_is_over_all_its_tasks() -> None:
    reference = task([[("a/b", {"x": 1}), ("a/c", {})]])
    tie = _aligned(reference, [[("a/c", {}), ("a/b", {"x": 1})], [("a/b", {"x": 1})]])
    plain = _aligned(reference, [[("a/b", {"x": 1})]])
    assert (tie.ties is None, plain.ties is None) == (False, True)
    ties = model_ties([tie, plain])
    assert (ties.tasks, ties.incomplete) == (1, 0)
    assert (ties.step_coherence.least, ties.step_coherence.greatest) == pytest.approx(((0.5 + 0.5) / 2, (1 + 0.5) / 2))


STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from(["s/one", "s/two"]), st.sampled_from([{}, {"x": 1}, {"x": 2}])), max_size=3),
    max_size=4,
)


@given(STEPS, STEPS, st.sampled_from(["published", "equations"]))
def test_the_figures_lie_in_their_range(reference: Any, predicted: Any, definitions: Any) -> None:
    found = _aligned(task(reference), predicted, definitions)
    if found.ties is not None:
        assert found.ties.assignments > 1
        for name in STEP_METRICS:
            assert getattr(found.ties, name).least <= getattr(found, name) <= getattr(found.ties, name).greatest


def _aligned(reference: Any, predicted: Any, definitions: Any = "published") -> AlignedTask:
    signed = task(predicted)
    found = vectors(texts_to_embed(reference.calls, signed.calls))
    return align_task(
        reference, signed, blocks_by_tool(reference.calls, signed.calls, found), AlignmentSettings(definitions)
    )
