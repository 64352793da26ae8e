"""MCPEval's two matches, edge by edge, and MCP-Bench's rates."""

from __future__ import annotations

from typing import Any

import pytest

from replay.alignment.other_benchmarks import (
    flexible_credit,
    mcpbench_rates,
    mcpeval,
    mean_of,
    near_enough,
    same,
    strict_credit,
)
from replay.records import Outcome
from replay.records.alignment import McpEvalScores

from .builders import Written, task


def scores(reference: list[Written], predicted: list[Written]) -> McpEvalScores:
    return mcpeval(task([reference]).calls, task([predicted]).calls)


def test_both_empty_is_one_and_success() -> None:
    assert set(scores([], []).model_dump().values()) == {1.0}


@pytest.mark.parametrize(("reference", "predicted"), [([("a", {})], []), ([], [("a", {})])])
def test_one_empty_is_zero(reference: list[Written], predicted: list[Written]) -> None:
    assert set(scores(reference, predicted).model_dump().values()) == {0.0}


def test_names_are_compared_by_place() -> None:
    found = scores([("a", {}), ("b", {}), ("c", {})], [("x", {}), ("a", {}), ("c", {})])
    assert found.strict_name == pytest.approx(1 / 3)
    assert found.strict_order == pytest.approx(2 / 3)
    assert found.strict_overall == pytest.approx(0.4 / 3 + 0.4 * 1 + 0.2 * 2 / 3)


def test_further_calls_of_known_tools_do_not_spoil_strict_success_but_foreign_tools_do() -> None:
    assert scores([("a", {})], [("a", {}), ("a", {"x": 1})]).strict_success == 1
    found = scores([("a", {})], [("a", {}), ("b", {})])
    assert found.strict_success == 0
    assert found.flexible_success == 1


def test_parameters_count_over_the_references_alone() -> None:
    assert strict_credit({"x": "A ", "y": 2}, {"x": " a", "y": 3, "z": 9}) == 0.5
    assert flexible_credit({"x": "A ", "y": 2}, {"x": " a", "y": 3, "z": 9}) == 0.75
    assert flexible_credit({"x": 1, "y": 2}, {"x": 1}) == 0.5
    assert strict_credit({}, {"z": 9}) == flexible_credit({}, {"z": 9}) == 1


def test_flexible_leaves_out_empty_and_null_parameters() -> None:
    assert flexible_credit({"x": None, "y": [], "z": ""}, {}) == 1
    assert strict_credit({"x": None, "y": [], "z": ""}, {}) == 0


@pytest.mark.parametrize(
    ("one", "other", "strict", "flexible"),
    [
        (" Paris", "paris ", True, True),
        ("par", "Paris", False, True),
        (1, 1.0000001, True, True),
        (1, 1.1, False, True),
        (10, 12, False, True),
        (10, 13, False, False),
        (0.1, 0.25, False, True),
        (0.1, 0.35, False, False),
        (0, 0.0, True, True),
        (True, 1, True, True),
        ([1, "A"], [1.0, "a"], True, True),
        ([1, 2], [1], False, False),
        ({"K": "V"}, {"k": "v"}, True, True),
        ("5", 5, False, False),
        (None, None, True, True),
        (float("nan"), float("nan"), False, False),
        (10**400, 10**400, False, False),
    ],
)
def test_values(one: Any, other: Any, strict: bool, flexible: bool) -> None:
    assert (same(one, other), near_enough(one, other)) == (strict, flexible)


def test_flexible_success_needs_each_call_at_0_6() -> None:
    reference: list[Written] = [("a", {"x": "one", "y": "two"})]
    assert scores(reference, [("a", {"x": "one", "y": "other"})]).flexible_success == 1
    assert scores(reference, [("a", {"x": "one"})]).flexible_success == 0


def test_unreadable_arguments_are_no_parameters() -> None:
    assert scores([("a", {"x": 1})], [("a", "nonsense")]).strict_parameters == 0


def test_mean_over_tasks() -> None:
    found = mean_of([scores([], []), scores([("a", {})], [])])
    assert set(found.model_dump().values()) == {0.5}
    assert set(mean_of([]).model_dump().values()) == {0.0}


def test_mcpbench_rates() -> None:
    outcomes = [
        *[Outcome.SUCCESS] * 4,
        Outcome.NOT_FOUND,
        Outcome.INVALID_ARGUMENTS,
        Outcome.UNKNOWN_TOOL,
        Outcome.ILLEGAL_FORMAT,
        *[Outcome.INCONCLUSIVE] * 2,
    ]
    found = mcpbench_rates(outcomes)
    assert found.valid_tool_names == pytest.approx(6 / 8)
    assert found.schema_compliance == pytest.approx(5 / 6)
    assert found.execution_success == pytest.approx(4 / 8)
    assert (found.calls, found.inconclusive) == (10, 2)


def test_mcpbench_has_no_rate_where_nothing_was_answered() -> None:
    found = mcpbench_rates([Outcome.UNKNOWN_TOOL, Outcome.INCONCLUSIVE])
    assert (found.valid_tool_names, found.schema_compliance, found.execution_success) == (None, None, None)
    assert (found.calls, found.inconclusive) == (2, 1)
    assert mcpbench_rates([Outcome.UNKNOWN_TOOL]).execution_success == 0.0, "here all calls are judged"


def test_mcpbench_rates_without_calls() -> None:
    found = mcpbench_rates([Outcome.INCONCLUSIVE])
    assert found.valid_tool_names is None
    assert found.schema_compliance is None
    assert found.execution_success is None
