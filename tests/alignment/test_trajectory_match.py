"""Trajectory match and tool-call F1, as agentevals and ragas define them; each case worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.alignment.metrics import aggregate
from replay.alignment.other_benchmarks import trajectory_match
from replay.records.alignment import TRAJECTORY_MATCH, ToolArgsMatchMode

from .builders import Written, task

A: Final[Written] = ("s/a", {"x": 1})
OTHER_A: Final[Written] = ("s/a", {"x": 2})
MORE_A: Final[Written] = ("s/a", {"x": 1, "y": 2})
B: Final[Written] = ("s/b", {})
Steps = Sequence[Sequence[Written]]


def matches(reference: Steps, predicted: Steps, mode: ToolArgsMatchMode = "exact") -> tuple[Any, ...]:
    """Strict, unordered, subset, superset, F1."""
    scores = trajectory_match(task(reference), task(predicted), mode)
    return tuple(getattr(scores, name) for name in TRAJECTORY_MATCH)


@pytest.mark.parametrize(
    ("reference", "predicted", "expected"),
    [
        ([[A], [B]], [[A], [B]], (1, 1, 1, 1, 1)),
        ([[A], [B]], [[B], [A]], (0, 1, 1, 1, 1)),
        ([[A, B]], [[B, A]], (1, 1, 1, 1, 1)),
        ([[A, B]], [[A], [B]], (0, 1, 1, 1, 1)),
        ([[A], [B]], [[A], [], [B]], (1, 1, 1, 1, 1)),
        ([[A], [B]], [[A]], (0, 0, 1, 0, pytest.approx(2 / 3))),
        ([[A]], [[A], [B]], (0, 0, 0, 1, pytest.approx(2 / 3))),
        ([[A], [B]], [[OTHER_A], [B]], (0, 0, 0, 0, 0.5)),
        ([[A], [A]], [[A]], (0, 0, 1, 0, 1)),
        ([[A]], [[A], [A]], (0, 0, 0, 1, 1)),
        ([], [], (1, 1, 1, 1, 0)),
        ([[A]], [], (0, 0, 1, 0, 0)),
        ([], [[A]], (0, 0, 0, 1, 0)),
    ],
    ids=[
        "the same",
        "in another order",
        "in another order within a step",
        "one step made two",
        "a step without a call between",
        "one call missing",
        "one call more",
        "other arguments",
        "repeated in the reference alone",
        "repeated in the prediction alone",
        "no call on either side",
        "no predicted call",
        "no reference call",
    ],
)
def test_arguments_must_be_equal_by_default(reference: Steps, predicted: Steps, expected: tuple[Any, ...]) -> None:
    assert matches(reference, predicted) == expected


@pytest.mark.parametrize(
    ("reference", "predicted", "mode", "expected"),
    [
        ([[A]], [[OTHER_A]], "ignore", (1, 1, 1, 1)),
        ([[A], [B]], [[B], [OTHER_A]], "ignore", (0, 1, 1, 1)),
        ([[A]], [[B]], "ignore", (0, 0, 0, 0)),
        ([[MORE_A]], [[A]], "subset", (1, 0, 0, 1)),
        ([[MORE_A]], [[A]], "superset", (0, 0, 1, 0)),
        ([[A]], [[MORE_A]], "superset", (1, 0, 0, 1)),
    ],
)
def test_arguments_are_compared_as_the_mode_says(
    reference: Steps, predicted: Steps, mode: ToolArgsMatchMode, expected: tuple[int, ...]
) -> None:
    assert matches(reference, predicted, mode)[:4] == expected
    assert matches(reference, predicted, mode)[4] == matches(reference, predicted)[4]


def test_a_call_takes_the_first_that_fits_and_does_not_go_back_as_in_agentevals() -> None:
    """A call without arguments fits both of the reference's, and takes the only one that the other call fits."""
    reference = [[("s/a", {"x": 1}), ("s/a", {"x": 1, "y": 2})]]
    assert matches(reference, [[("s/a", {}), ("s/a", {"x": 1, "y": 2})]], "subset")[0] == 1
    assert matches(reference, [[("s/a", {"x": 1}), ("s/a", {})]], "subset")[0] == 1
    crossed = [[("s/a", {"x": 1, "y": 2}), ("s/a", {"x": 1})]]
    assert matches(crossed, [[("s/a", {}), ("s/a", {"x": 1, "y": 2})]], "subset")[0] == 0


@pytest.mark.parametrize(
    ("written", "other", "same"),
    [
        ({"n": 1}, {"n": 1.0}, True),
        ({"n": 1}, {"n": True}, True),
        ({"n": 1}, {"n": "1"}, False),
        ({"n": [1, {"k": [2]}]}, {"n": [1, {"k": [2.0]}]}, True),
        ({"n": [1, 2]}, {"n": [2, 1]}, False),
        ({"a": 1, "b": None}, {"b": None, "a": 1}, True),
        ({"b": None}, {}, False),
        ("not JSON", "not JSON", True),
        ("not JSON", "something else", False),
        (None, {}, True),
    ],
)
def test_arguments_are_equal_as_values_in_python_are(written: Any, other: Any, *, same: bool) -> None:
    assert matches([[("s/a", written)]], [[("s/a", other)]]) == (same,) * 5


def test_over_tasks_each_weighs_the_same() -> None:
    from replay.alignment.aligner import AlignmentSettings, align_task

    long = task([[A, A, A, A, B]])
    tasks = [align_task(one, other, (), AlignmentSettings()) for one, other in ((long, long), (task([[A]]), task([])))]
    assert [getattr(aggregate(tasks), name) for name in TRAJECTORY_MATCH] == [0.5, 0.5, 1.0, 0.5, 0.5]


calls = st.tuples(st.sampled_from(["a", "b"]), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1)))
some_steps = st.lists(st.lists(calls, max_size=3), max_size=3)


@given(some_steps, some_steps, st.sampled_from(["exact", "ignore"]))
def test_the_modes_imply_each_other(reference: Steps, predicted: Steps, mode: ToolArgsMatchMode) -> None:
    strict, unordered, subset, superset, f1 = matches(reference, predicted, mode)
    assert unordered == subset * superset
    assert strict <= unordered
    assert f1 == 1 or not (mode == "exact" and unordered and any(reference))
    assert matches(predicted, reference, mode) == (strict, unordered, superset, subset, f1)
