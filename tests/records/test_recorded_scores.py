from __future__ import annotations

import math

import pytest

from replay.records.rating import RECORDED_SCORES, recorded_scores

DIMENSIONS = {
    "task_fulfillment": 4.0,
    "grounding": 5.8,
    "tool_appropriateness": 5.4,
    "parameter_accuracy": 5.0,
    "dependency_awareness": 4.4,
    "parallelism_and_efficiency": 6.0,
}
RATES = {"valid_tool_name_rate": 1.0, "input_schema_compliance": 0.9, "execution_success_rate": 0.8}


def test_mcp_bench_scores_are_put_on_one_scale_and_summed_up_as_its_paper_does() -> None:
    scores = recorded_scores("mcp-bench", {**DIMENSIONS, **RATES, "status": "completed"})
    assert scores["mcpbench_task_fulfillment"] == pytest.approx(0.4)
    assert scores["mcpbench_task_completion"] == pytest.approx(0.49)
    assert scores["mcpbench_rates"] == pytest.approx(0.9)
    assert scores["mcpbench_overall"] == pytest.approx((0.9 + 0.49 + 0.52 + 0.52) / 4)


def test_what_the_file_says_of_an_axis_goes_before_the_mean_of_its_dimensions() -> None:
    scores = recorded_scores("mcp-bench", {**DIMENSIONS, "task_completion_score": 4.9001})
    assert scores["mcpbench_task_completion"] == pytest.approx(0.49001)


@pytest.mark.parametrize("left_out", [*DIMENSIONS, *RATES])
def test_without_one_of_its_parts_there_is_no_overall_score(left_out: str) -> None:
    figures = {name: value for name, value in {**DIMENSIONS, **RATES}.items() if name != left_out}
    scores = recorded_scores("mcp-bench", figures)
    assert "mcpbench_overall" not in scores
    assert f"mcpbench_{left_out}" not in scores


def test_mcpeval_scores_are_read_from_their_sections() -> None:
    figures = {
        "trajectory_scores": {"planning": 1.0, "tool_usage": 0.9},
        "completion_scores": {"requirement_coverage": 1.0, "accuracy": 0.9, "completeness": 0.9, "usefulness": 0.8},
    }
    scores = recorded_scores("mcpeval", figures)
    assert scores == {
        "mcpeval_planning": 1.0,
        "mcpeval_tool_usage": 0.9,
        "mcpeval_requirement_coverage": 1.0,
        "mcpeval_accuracy": 0.9,
        "mcpeval_completeness": 0.9,
        "mcpeval_usefulness": 0.8,
        "mcpeval_completion": pytest.approx(0.9),
    }


@pytest.mark.parametrize("value", [11, -1, True, "7", None, math.nan, math.inf, {"score": 7}])
def test_what_is_no_number_of_the_scale_is_no_score(value: object) -> None:
    assert recorded_scores("mcp-bench", {"grounding": value}) == {}


def test_sections_that_are_no_objects_hold_no_scores() -> None:
    assert recorded_scores("mcpeval", {"trajectory_scores": [1.0], "completion_scores": "good"}) == {}


def test_files_of_other_formats_have_fields_of_the_same_names_and_no_such_scores() -> None:
    assert recorded_scores("langfuse", {"accuracy": 0.5, "grounding": 7}) == {}
    assert recorded_scores("mcp-bench", None) == {}


def test_every_mean_is_of_scores_that_stand_before_it() -> None:
    names = list(RECORDED_SCORES)
    for name, score in RECORDED_SCORES.items():
        assert all(names.index(part) < names.index(name) for part in score.mean_of)
