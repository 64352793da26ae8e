"""What holds for every pair of trajectories."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from replay.alignment.aligner import AlignmentSettings, align_task
from replay.alignment.matching import blocks_by_tool, texts_to_embed
from replay.alignment.other_benchmarks import mcpeval
from replay.alignment.tasks import SignedTask
from replay.records.alignment import AlignedTask, McpEvalScores, Scores

from .builders import Written, task, vectors

VALUES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text("aB ", max_size=3))
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.one_of(VALUES, st.lists(VALUES, max_size=2)), max_size=3)
CALLS = st.tuples(st.sampled_from(["s/one", "s/two", "s/three"]), ARGUMENTS)
STEPS = st.lists(st.lists(CALLS, max_size=4), max_size=4)
DEFINITIONS = st.sampled_from(["published", "equations"])


def aligned(reference: SignedTask, predicted: SignedTask, definitions: Any) -> AlignedTask:
    found = vectors(texts_to_embed(reference.calls, predicted.calls))
    blocks = blocks_by_tool(reference.calls, predicted.calls, found)
    return align_task(reference, predicted, blocks, AlignmentSettings(definitions))


@given(STEPS, STEPS, DEFINITIONS)
def test_every_metric_stays_in_0_1(reference: Any, predicted: Any, definitions: str) -> None:
    found = aligned(task(reference), task(predicted), definitions)
    for name in Scores.model_fields:
        assert 0 <= getattr(found, name) <= 1 + 1e-9
    for name in McpEvalScores.model_fields:
        assert 0 <= getattr(found.mcpeval, name) <= 1 + 1e-9
    kinds = [call.kind for call in found.calls]
    assert len(kinds) == found.total_pred_calls
    assert len(found.missed) == found.total_gt_calls - found.matched


@given(STEPS, DEFINITIONS)
def test_a_trajectory_against_itself_is_perfect(steps: list[list[Written]], definitions: str) -> None:
    found = aligned(task(steps), task(steps), definitions)
    called = any(steps)
    several = sum(map(bool, steps)) > 1
    similarity = 1.0 if called else 0.0
    expected = {
        "recall": 1.0,
        "precision": 1.0,
        "argument_similarity": similarity,
        "argument_similarity_strong": similarity,
        "step_coherence": 1.0,
        "order_consistency": 1.0 if definitions == "equations" or several or not called else 0.0,
        "merge_purity": 1.0,
    }
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)


@given(st.data(), DEFINITIONS)
@settings(max_examples=400)
def test_the_order_within_a_step_changes_nothing(data: st.DataObject, definitions: str) -> None:
    reference, predicted = data.draw(STEPS), data.draw(STEPS)
    shuffled = [[data.draw(st.permutations(step)) for step in steps] for steps in (reference, predicted)]
    before = aligned(task(reference), task(predicted), definitions)
    after = aligned(task(shuffled[0]), task(shuffled[1]), definitions)
    for name in Scores.model_fields:
        assert getattr(after, name) == pytest.approx(getattr(before, name))


@given(STEPS, STEPS)
def test_flexible_never_fails_where_strict_succeeds(reference: Any, predicted: Any) -> None:
    for other in (predicted, reference):
        found = mcpeval(task(reference).calls, task(other).calls)
        assert found.flexible_success >= found.strict_success
