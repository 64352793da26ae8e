"""Each metric on examples worked out by hand, and on every degenerate case."""

from __future__ import annotations

import math
from typing import Any

import pytest

from replay.alignment.metrics import (
    aggregate,
    covered_order,
    covered_similarity,
    in_order,
    mean_strong,
    merge_purity,
    overall_average,
    precision,
    recall,
    recalled_order,
    score,
    step_coherence,
    task_average,
)
from replay.records.alignment import AlignedTask, JudgeScores, M3BenchScores, McpEvalScores, Scores

from .builders import matches

# Two reference steps of 2 and 3 calls; six predicted. Of step 0 both are matched, in the predicted steps 0 and 1; of
# step 1 two are, both in predicted step 1.
EXAMPLE = matches([2, 3], 6, [(0, 0, 0.9), (0, 1, 0.7), (1, 1, 0.8), (1, 1, 0.6)])
NOTHING = matches([2, 3], 6, [])
ONE_STEP = matches([3], 3, [(0, 0, 0.9), (0, 2, 0.9)])
ONE_ACTIVE_STEP = matches([1, 1], 2, [(1, 0, 0.9)])


def test_recall_and_precision() -> None:
    assert recall(EXAMPLE) == pytest.approx(4 / 5)
    assert precision(EXAMPLE) == pytest.approx(4 / 6)


def test_argument_similarity() -> None:
    assert covered_similarity(EXAMPLE) == pytest.approx(4 / 5 * (0.9 + 0.7 + 0.8 + 0.6) / 4)
    assert covered_similarity(EXAMPLE, 0.8) == pytest.approx(2 / 5 * (0.9 + 0.8) / 2)
    similarities = [pair.similarity for pair in EXAMPLE.pairs]
    assert mean_strong(similarities, 0.8) == pytest.approx((0.9 + 0.8) / 2)
    assert mean_strong(similarities, 0.95) == 0


def test_step_coherence_is_the_same_number_both_ways() -> None:
    published = (2 / 2 * 1 / 2 * 2 + 2 / 3 * 1 * 3) / 5
    equation = 4 / 5 * (2 * 1 / 2 + 2 * 1) / 4
    assert step_coherence(EXAMPLE) == pytest.approx(published)
    assert published == pytest.approx(equation)


def test_order_consistency() -> None:
    # Comparable: pairs in different steps on both sides: (0,0)-(1,1) twice; both in order.
    assert in_order(EXAMPLE) == 1
    assert covered_order(EXAMPLE) == pytest.approx(2 * 2 / (2 * 3))
    assert recalled_order(EXAMPLE) == pytest.approx(4 / 5)
    crossed = matches([1, 1, 1], 3, [(0, 2, 1), (1, 0, 1), (2, 1, 1)])
    assert in_order(crossed) == pytest.approx(1 - 2 / 3)
    assert covered_order(crossed) == pytest.approx(1 / 3)


def test_merge_purity() -> None:
    # Predicted step 0 holds only step 0 (0.9). Step 1 holds 0.7 of step 0 and 1.4 of step 1: 1/3 and 2/3.
    mixed = -(1 / 3 * math.log(1 / 3) + 2 / 3 * math.log(2 / 3))
    assert merge_purity(EXAMPLE) == pytest.approx(4 / 5 * (1 - 2.1 / 3.0 * mixed / math.log(2)))
    merged = matches([1, 1], 2, [(0, 0, 0.8), (1, 0, 0.8)])
    assert merge_purity(merged) == pytest.approx(0)


@pytest.mark.parametrize("definitions", ["published", "equations"])
def test_nothing_matched(definitions: str) -> None:
    assert set(score(NOTHING, 0.8, definitions).model_dump().values()) == {0.0}  # type: ignore[arg-type]


@pytest.mark.parametrize("definitions", ["published", "equations"])
@pytest.mark.parametrize(("calls", "predicted"), [([], 3), ([0], 3), ([2], 0)])
def test_no_calls_on_one_side(definitions: str, calls: list[int], predicted: int) -> None:
    assert set(score(matches(calls, predicted, []), 0.8, definitions).model_dump().values()) == {0.0}  # type: ignore[arg-type]


@pytest.mark.parametrize("definitions", ["published", "equations"])
def test_no_calls_on_either_side(definitions: str) -> None:
    scores = score(matches([0], 0, []), 0.8, definitions).model_dump()  # type: ignore[arg-type]
    assert scores.pop("argument_similarity") == scores.pop("argument_similarity_strong") == 0
    assert set(scores.values()) == {1.0}


def test_one_reference_step() -> None:
    assert covered_order(ONE_STEP) == 0
    assert recalled_order(ONE_STEP) == pytest.approx(2 / 3)
    assert merge_purity(ONE_STEP) == pytest.approx(2 / 3)
    assert step_coherence(ONE_STEP) == pytest.approx(2 / 3 / 2)


def test_one_active_step() -> None:
    assert merge_purity(ONE_ACTIVE_STEP) == pytest.approx(1 / 2)
    assert covered_order(ONE_ACTIVE_STEP) == 0
    assert recalled_order(ONE_ACTIVE_STEP) == pytest.approx(1 / 2)


def test_no_comparable_pair() -> None:
    together = matches([1, 1], 2, [(0, 0, 0.8), (1, 0, 0.8)])
    assert in_order(together) == 1
    assert covered_order(together) == 1
    assert recalled_order(together) == 1


def test_the_two_sets_differ_where_they_should() -> None:
    published, equations = score(EXAMPLE, 0.8, "published"), score(EXAMPLE, 0.8, "equations")
    assert published.argument_similarity == pytest.approx(0.6)
    assert equations.argument_similarity == pytest.approx(0.85)
    assert published.order_consistency == pytest.approx(2 / 3)
    assert equations.order_consistency == pytest.approx(0.8)
    same = {"recall", "precision", "argument_similarity_strong", "step_coherence", "merge_purity"}
    assert published.model_dump(include=same) == equations.model_dump(include=same)


def _task(identifier: str, total: int, predicted: int, matched: int, value: float) -> AlignedTask:
    scores: dict[str, Any] = dict.fromkeys(Scores.model_fields, value)
    return AlignedTask(
        id=identifier,
        total_gt_calls=total,
        total_pred_calls=predicted,
        matched=matched,
        steps=2,
        matches=(),
        mcpeval=McpEvalScores(**dict.fromkeys(McpEvalScores.model_fields, 0.0)),
        **scores,
    )


def test_by_the_equations_argument_similarity_is_pooled_over_the_strong_matches_of_all_tasks() -> None:
    small = _task("a", 10, 10, 1, 0.9).model_copy(update={"matches": ((0, 0, 0.9), (1, 1, 0.7))})
    large = _task("b", 1, 3, 3, 1.0).model_copy(update={"matches": ((0, 0, 1.0), (0, 1, 1.0), (0, 2, 1.0))})
    assert aggregate([small, large], "equations", 0.8).argument_similarity == pytest.approx(3.9 / 4)
    assert aggregate([small, large]).argument_similarity == pytest.approx((10 * 0.9 + 1.0) / 11)
    assert aggregate([_task("c", 1, 1, 0, 0.0)], "equations", 0.8).argument_similarity == 0.0


def test_aggregate_sums_counts_and_weights_by_reference_calls() -> None:
    found = aggregate([_task("a", 2, 3, 1, 0.5), _task("b", 6, 3, 3, 0.1), _task("c", 0, 0, 0, 1.0)])
    assert (found.num_ids, found.total_gt_calls, found.total_pred_calls, found.matched) == (3, 8, 6, 4)
    assert found.recall == pytest.approx(4 / 8)
    assert found.precision == pytest.approx(4 / 6)
    assert found.step_coherence == pytest.approx((2 * 0.5 + 6 * 0.1) / 8)
    assert found.average_steps == 2
    assert found.average_calls == 2


def test_aggregate_of_nothing_is_zero() -> None:
    assert set(aggregate([]).model_dump().values()) == {0}


def _scores(values: list[float]) -> Scores:
    names = [name for name in M3BenchScores.model_fields if name != "argument_similarity_strong"]
    return Scores(**dict(zip(names, values, strict=True)), argument_similarity_strong=0.0)


def test_the_papers_overall_average_leaves_task_completion_out() -> None:
    scores = _scores([0.627, 0.264, 0.583, 0.502, 0.290, 0.453])
    judge = JudgeScores(completion_rate=0.671, information_grounding_rate=0.657)
    assert overall_average(scores, judge) == pytest.approx(0.482, abs=5e-4)


def test_the_papers_per_task_average_has_all_eight() -> None:
    scores = _scores([0.400, 0.167, 0.387, 0.400, 0.000, 0.400])
    judge = JudgeScores(completion_rate=0.640, information_grounding_rate=0.603)
    assert task_average(scores, judge) == pytest.approx(0.375, abs=5e-4)


def test_averages_without_a_judge_are_over_six() -> None:
    scores = _scores([0.6, 0.0, 0.6, 0.6, 0.6, 0.6])
    assert overall_average(scores) == task_average(scores) == pytest.approx(0.5)
    assert overall_average(scores, JudgeScores(completion_rate=0.0)) == pytest.approx(0.5)
