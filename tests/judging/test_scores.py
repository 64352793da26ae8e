"""What follows from the replies of judges."""

from __future__ import annotations

from typing import Any

import pytest

from replay.alignment.judges import trimmed_mean
from replay.judging.asking import scores_in
from replay.judging.prompts import Asked, RatedRun, prompts_for, versioned
from replay.judging.scores import (
    agreement,
    coefficient_of_variation,
    contradictions,
    coverage,
    rated_models,
    task_values,
)
from replay.records import Call, Outcome, Source, Step, Task, TextAnswer, Trajectory
from replay.records.rating import Rating

SIX = {
    "task_fulfillment": 8.0,
    "grounding": 6.0,
    "tool_appropriateness": 10.0,
    "parameter_accuracy": 4.0,
    "dependency_awareness": 5.0,
    "parallelism_and_efficiency": 3.0,
}


def rating(prompt: str = "m3-completion", judge: str = "a", trajectory: str = "t", **fields: Any) -> Rating:
    protocol: Any = prompt.partition("-")[0]
    given = {"scores": {"completion_rate": 0.5}, **fields}
    return Rating(
        file="/r.json",
        trajectory=trajectory,
        protocol=protocol,
        prompt=versioned(prompt),
        judge=judge,
        model="m",
        judge_model="j",
        digest="d",
        prompt_text="p",
        reply="r",
        asked_at="2026-01-01T00:00:00Z",
        **given,
    )


def run(*steps: tuple[Call, ...], reply: str = "", question: str = "How many?", trajectory: str = "t") -> Trajectory:
    return Trajectory(
        id=trajectory,
        model="m",
        task=Task(question=question),
        source=Source(file="r.json", format="m3bench"),
        steps=tuple(Step(calls=calls) for calls in steps),
        final_reply=reply,
    )


def call(answer: str) -> Call:
    return Call(position="s1c1", name="shop/find", arguments={}, answer=TextAnswer(text=answer))


def test_of_four_judges_the_smallest_and_the_largest_score_are_dropped() -> None:
    assert trimmed_mean([0.0, 0.4, 0.6, 1.0]) == pytest.approx(0.5)


def test_of_fewer_than_four_judges_none_is_dropped() -> None:
    assert trimmed_mean([0.0, 0.5, 1.0]) == pytest.approx(0.5)
    assert trimmed_mean([0.0, 1.0]) == pytest.approx(0.5)


def test_grounding_takes_the_best_step_for_each_of_the_reference() -> None:
    assert coverage({"R1P1": 0.2, "R1P2": 0.8, "R2P1": 0.0, "R2P2": 0.4}) == pytest.approx(0.6)


def test_pairs_are_trimmed_like_completion_before_the_best_is_taken() -> None:
    replies = [
        rating("m3-grounding", judge, scores={"R1P1": score, "R1P2": 0.0})
        for judge, score in zip("abcd", (0.0, 0.4, 0.6, 1.0), strict=True)
    ]
    assert task_values(replies, "m3") == {("/r.json", "t"): {"information_grounding_rate": pytest.approx(0.5)}}


def test_mcp_bench_divides_by_ten_and_averages_dimensions_then_orders() -> None:
    replies = [rating("mcpbench", shuffle=1, scores=SIX), rating("mcpbench", shuffle=2, scores=dict.fromkeys(SIX, 2.0))]
    values = task_values(replies, "mcpbench")["/r.json", "t"]
    assert values["task_completion"] == pytest.approx((0.7 + 0.2) / 2)
    assert values["tool_usage"] == pytest.approx((0.7 + 0.2) / 2)
    assert values["planning_effectiveness"] == pytest.approx((0.4 + 0.2) / 2)


def test_mcp_benchs_overall_is_the_mean_of_the_rates_and_the_three_axes() -> None:
    (model,) = rated_models([rating("mcpbench", scores=SIX)], "mcpbench", {}, {"m": 0.9})
    overall = {measure.name: measure.mean for measure in model.measures}["overall"]
    assert overall == pytest.approx((0.9 + 0.7 + 0.7 + 0.4) / 4)


def test_mcpeval_says_the_gap_and_the_correlation_of_its_two_scores() -> None:
    replies = []
    for name, trajectory, completion in (("t", 0.9, 0.7), ("u", 0.5, 0.5), ("v", 0.1, 0.0)):
        dimensions = ("planning", "execution_flow", "tool_selection", "tool_usage", "adaptability", "efficiency")
        own = dict.fromkeys((*dimensions, "context_awareness"), trajectory)
        reply = dict.fromkeys(("requirement_coverage", "accuracy", "completeness", "usefulness"), completion)
        replies += [
            rating("mcpeval-trajectory", trajectory=name, scores=own),
            rating("mcpeval-completion", trajectory=name, scores=reply),
        ]
    (model,) = rated_models(replies, "mcpeval", {}, {})
    assert model.gap == pytest.approx(0.1)
    assert model.correlation == pytest.approx(0.9707, abs=1e-4)
    trajectory_measure = next(measure for measure in model.measures if measure.name == "trajectory")
    assert [trajectory_measure.mean, trajectory_measure.deviation] == pytest.approx([0.5, 0.4])


def test_unreadable_replies_and_unanswered_requests_are_missing() -> None:
    replies = [rating(), rating(trajectory="u", scores=None, problem="no JSON")]
    (model,) = rated_models(replies, "m3", {"m": 3}, {})
    assert (model.judgements, model.missing) == (1, 4)


def test_agreement_is_told_for_each_pair_of_judges() -> None:
    replies = [
        rating(judge=judge, trajectory=name, scores={"completion_rate": score})
        for judge, scores in (("a", (0.1, 0.5, 0.9)), ("b", (0.2, 0.4, 1.0)), ("c", (0.5, 0.5, 0.5)))
        for name, score in zip("tuv", scores, strict=True)
    ]
    pairs = {(pair.first, pair.second): pair for pair in agreement(replies)}
    assert pairs["a", "b"].spearman == pytest.approx(1.0)
    assert pairs["a", "b"].mean_difference == pytest.approx(0.1)
    assert pairs["a", "c"].spearman is None
    assert {pair.judgements for pair in pairs.values()} == {3}


def test_the_coefficient_of_variation_is_the_populations_and_a_mean_over_tasks() -> None:
    replies = [
        rating(judge=judge, trajectory=name, scores={"completion_rate": score})
        for judge, name, score in (("a", "t", 0.4), ("b", "t", 0.6), ("a", "u", 0.5), ("b", "u", 0.5))
    ]
    assert coefficient_of_variation(replies, "m3") == pytest.approx(0.1)
    assert coefficient_of_variation(replies[:1], "m3") is None


def test_completion_is_contradicted_where_every_call_failed() -> None:
    high = rating(scores={"completion_rate": 0.9})
    task_run = RatedRun(file="/r.json", trajectory=run((call("no such file"),)))
    failed = {("/r.json", "t"): {Outcome.NOT_FOUND: 2}}
    (found,) = contradictions([high], "m3", [task_run], failed)
    assert (found.measure, found.why) == ("completion_rate", "all 2 of its calls failed")
    in_part = {("/r.json", "t"): {Outcome.NOT_FOUND: 2, Outcome.SUCCESS: 1}}
    assert not list(contradictions([high], "m3", [task_run], in_part))
    low = rating(scores={"completion_rate": 0.6})
    assert not list(contradictions([low], "m3", [task_run], failed))


def test_grounding_is_contradicted_by_a_number_that_stands_in_no_answer() -> None:
    high = rating("m3-grounding", scores={"R1P1": 1.0})
    made_up = run((call("revenue: 12800"),), reply="Revenue was 12,800, cost 9731.")
    (found,) = contradictions([high], "m3", [RatedRun(file="/r.json", trajectory=made_up)], {})
    assert found.why == "stands in no answer: 9731"
    told = run((call("revenue: 12800.50"),), reply="Revenue was 12,800.5 in 3 lines.")
    assert not list(contradictions([high], "m3", [RatedRun(file="/r.json", trajectory=told)], {}))


def asked(protocol: Any = "m3", **fields: Any) -> Asked:
    return next(iter(prompts_for(RatedRun(file="/r.json", trajectory=run((call("14"),)), **fields), protocol)))


@pytest.mark.parametrize(
    "reply",
    ['{"completion_rate": 0.5}', 'Sure!\n```json\n{"completion_rate": 0.5}\n```', 'a {b} {"completion_rate": 0.5} c'],
)
def test_the_scores_are_found_in_whatever_stands_around_them(reply: str) -> None:
    assert scores_in(reply, asked()) == {"completion_rate": 0.5}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("It went well.", "no JSON object"),
        ('{"completion_rate": 0.', "no JSON object"),
        ('{"score": 1}', "no score for completion_rate"),
        ('{"completion_rate": 7}', "outside 0 to 1"),
        ('{"completion_rate": "high"}', "is not a number"),
        ('{"completion_rate": true}', "is not a number"),
        ('{"completion_rate": NaN}', "outside 0 to 1"),
    ],
)
def test_a_reply_without_every_score_in_its_scale_says_why(reply: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        scores_in(reply, asked())


def test_mcp_bench_wants_whole_numbers() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        scores_in(str({**SIX, "grounding": 6.5}).replace("'", '"'), asked("mcpbench"))


@pytest.mark.parametrize(
    "reply", ['{"scores": [[1]]}', '{"scores": [[1, 0]]}', '{"scores": 1}', '{"scores": [[2], [1]]}']
)
def test_scores_of_pairs_must_have_the_shape_of_the_steps(reply: str) -> None:
    reference = run((call("14"),), (call("15"),))
    pairs = list(prompts_for(RatedRun(file="/r.json", trajectory=run((call("14"),)), reference=reference), "m3"))[1]
    with pytest.raises(ValueError, match=r"scores|R1P1"):
        scores_in(reply, pairs)
    assert scores_in('{"scores": [[1], [0.5]]}', pairs) == {"R1P1": 1.0, "R2P1": 0.5}


def test_mcp_bench_is_asked_in_five_orders_with_the_same_words() -> None:
    prompts = list(prompts_for(RatedRun(file="/r.json", trajectory=run((call("14"),))), "mcpbench"))
    assert [prompt.shuffle for prompt in prompts] == [1, 2, 3, 4, 5]
    assert len({prompt.user for prompt in prompts}) == 5
    assert len({tuple(sorted(prompt.user)) for prompt in prompts}) == 1
    again = list(prompts_for(RatedRun(file="/r.json", trajectory=run((call("14"),))), "mcpbench"))
    assert again == prompts
