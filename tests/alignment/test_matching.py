"""Signatures, similarities and the assignment."""

from __future__ import annotations

import numpy as np
import pytest

from replay.alignment.matching import Block, Side, blocks_by_tool, match, match_blocks, matches_of, texts_to_embed
from replay.alignment.tasks import SignedCall, sign, signature
from replay.records import Call, Step

from .builders import task, trajectory, vectors


def test_signature_is_canonical_json() -> None:
    assert (
        signature(Call(position="s1c1", name="a/b", arguments={"b": [1, "é"], "a": None})) == '{"a":null,"b":[1,"é"]}'
    )


@pytest.mark.parametrize(("raw", "expected"), [(None, "null"), ('"x y"', '"x y"'), ("[1, 2]", "[1,2]"), ("{a", '"{a"')])
def test_signature_of_unreadable_arguments(raw: str | None, expected: str) -> None:
    assert signature(Call(position="s1c1", name="a/b", unreadable="arguments", raw=raw)) == expected


def test_nan_in_arguments() -> None:
    assert signature(Call(position="s1c1", name="a/b", arguments={"x": float("nan")})) == '{"x":NaN}'


def test_illegal_rounds_are_neither_calls_nor_steps() -> None:
    plain = trajectory([[("a/b", {})], [("a/c", {})]])
    illegal = Step(calls=(Call(position="s9c1", unreadable="call", raw="nonsense"),))
    signed = sign(plain.model_copy(update={"steps": (plain.steps[0], illegal, plain.steps[1])}))
    assert signed.calls_per_step == (1, 1)
    assert [call.step for call in signed.calls] == [0, 1]
    assert signed.illegal == ("s9c1",)


def test_steps_without_calls_count() -> None:
    assert task([[], [("a/b", {})]]).calls_per_step == (0, 1)


def test_a_call_without_a_name_counts_and_keeps_its_place() -> None:
    unnamed = Call(position="s1c1", unreadable="name", arguments={})
    signed = sign(trajectory([]).model_copy(update={"steps": (Step(calls=(unnamed,)),)}))
    assert [call.name for call in signed.calls] == [""]


def test_only_texts_that_can_match_are_embedded() -> None:
    reference = task([[("both", {"x": 1}), ("mine", {"x": 2}), ("same", {"x": 3})]])
    predicted = task([[("both", {"x": 4}), ("theirs", {"x": 5}), ("same", {"x": 3})]])
    assert texts_to_embed(reference.calls, predicted.calls) == {'{"x":1}', '{"x":4}'}


def test_names_are_compared_without_surrounding_space() -> None:
    blocks = blocks_by_tool(task([[(" a/b", {})]]).calls, task([[("a/b ", {})]]).calls, {})
    assert match(blocks, 0.6) == ((0, 0, 1.0),)


def test_equal_texts_are_exactly_one() -> None:
    reference, predicted = task([[("t", {"x": 1}), ("t", {"x": 2})]]), task([[("t", {"x": 2})]])
    found = vectors(texts_to_embed(reference.calls, predicted.calls))
    (block,) = blocks_by_tool(reference.calls, predicted.calls, found)
    assert block.similarity.shape == (2, 1)
    assert block.similarity[1, 0] == 1.0
    assert match([block], 0.6) == ((1, 0, 1.0),)


def _block(similarity: list[list[float]], *steps: list[int]) -> Block:
    """Every call has a text of its own."""
    grid = np.asarray(similarity, np.float32)
    sides = [_side(own or [0] * size) for own, size in zip(steps or ([], []), grid.shape, strict=True)]
    return Block("t", sides[0], sides[1], grid)


def _side(steps: list[int]) -> Side:
    return Side(tuple(SignedCall(n, step, f"c{n}", "t", f"{n}", {}, True) for n, step in enumerate(steps)))


def test_the_assignment_is_optimal_and_not_greedy() -> None:
    assert [pair[:2] for pair in match([_block([[0.9, 0.85], [0.88, 0.61]])], 0.6)] == [(0, 1), (1, 0)]


def test_more_pairs_go_before_better_ones() -> None:
    assert [pair[:2] for pair in match([_block([[1.0, 0.6], [0.61, 0.1]])], 0.6)] == [(0, 1), (1, 0)]


def test_pairs_below_tau_weak_are_forbidden() -> None:
    assert match([_block([[0.59]])], 0.6) == ()
    assert [pair[:2] for pair in match([_block([[0.59, 0.7], [0.1, 0.2]])], 0.6)] == [(0, 1)]


def test_a_similarity_of_exactly_tau_weak_is_kept() -> None:
    assert len(match([_block([[0.6]])], 0.6)) == 1


def test_ties_between_equal_calls_go_by_order() -> None:
    assert [pair[:2] for pair in match([_block([[1.0, 1.0], [1.0, 1.0]])], 0.6)] == [(0, 0), (1, 1)]


def test_of_equally_good_pairs_those_in_the_same_step_are_taken_first() -> None:
    assert match([_block([[1.0, 1.0]], [1], [0, 1])], 0.6) == ((0, 1, 1.0),)
    # Uncrossed, the steps 1-0 and 2-1 would be nearer to each other; but 1-1 is in the same step.
    assert [pair[:2] for pair in match([_block([[1.0, 1.0], [1.0, 1.0]], [1, 2], [0, 1])], 0.6)] == [(0, 1), (1, 0)]


def test_where_no_step_is_the_same_equally_good_pairs_are_taken_in_order() -> None:
    crossed = _block([[1.0, 1.0], [1.0, 1.0]], [2, 4], [3, 5])
    assert [pair[:2] for pair in match([crossed], 0.6)] == [(0, 0), (1, 1)]
    assert match([_block([[1.0, 1.0]], [5], [0, 3])], 0.6) == ((0, 1, 1.0),)


def test_where_the_steps_are_equally_near_the_earlier_one_is_taken() -> None:
    assert match([_block([[1.0, 1.0]], [1], [0, 2])], 0.6) == ((0, 0, 1.0),)


def test_the_published_choice_goes_by_the_order_of_the_file_and_the_last_digit() -> None:
    def published(block: Block) -> list[tuple[int, int]]:
        return [pair[:2] for pair in matches_of(match_blocks([block], 0.6, "published"))]

    assert published(_block([[1.0, 1.0]], [1], [0, 1])) == [(0, 0)], "and not the one in the same step"
    assert published(_block([[0.900_000_0, 0.900_000_2]], [0], [0, 1])) == [(0, 1)]
    assert published(_block([[1.0, 0.5], [1.0, 1.0]])) == [(0, 0), (1, 1)]
    assert published(_block([[0.5, 1.0], [0.5, 1.0]])) == [(0, 1)], "what is not similar enough stays alone"


def test_a_better_similarity_goes_before_the_same_step() -> None:
    assert match([_block([[0.9, 0.899_99]], [1], [0, 1])], 0.6)[0][1] == 0


def test_differences_below_a_millionth_do_not_decide() -> None:
    assert match([_block([[0.900_000_2, 0.900_000_0]], [1], [0, 1])], 0.6)[0][1] == 1


def test_ties_between_steps_do_not_go_by_the_order_within_a_step() -> None:
    reference = task([[("t", {"x": 1})]])
    one, other = ("t", {"x": 2}), ("t", {"x": 3})
    pairs = []
    for first in ([one, other], [other, one]):
        predicted = task([first, [one]])
        found = vectors(texts_to_embed(reference.calls, predicted.calls))
        (pair,) = match(blocks_by_tool(reference.calls, predicted.calls, found), 0.0)
        pairs.append((predicted.calls[pair[1]].step, predicted.calls[pair[1]].signature))
    assert pairs[0] == pairs[1]
