from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay.analysis.compare import compare_models
from replay.records.comparison import ModelComparison
from replay.reports.compare import render
from replay.runfile import Run
from tests.formats.samples import mcpbench, mcpbench_call, mcpeval
from tests.runs import call, make_run, write_trajectory

DIMENSIONS = (
    *("task_fulfillment", "grounding", "tool_appropriateness"),
    *("parameter_accuracy", "dependency_awareness", "parallelism_and_efficiency"),
)
RATES = ("valid_tool_name_rate", "input_schema_compliance", "execution_success_rate")


def bench_file(path: Path, *scores: float) -> Path:
    """MCP-Bench results: a task for each score, which is given in all dimensions."""
    document = mcpbench(mcpbench_call("s__a", "S", 1))
    (task,) = document["task_run_results"]["m"]
    document["task_run_results"]["m"] = [
        {**task, "task_id": f"t{number}", "evaluation": dict.fromkeys(DIMENSIONS, score) | dict.fromkeys(RATES, 1.0)}
        for number, score in enumerate(scores)
    ]
    path.write_text(json.dumps(document))
    return path


def eval_file(path: Path, scores: dict[str, tuple[float, float]], *, with_calls: bool = True) -> Path:
    """MCPEval results, or what its judge gave alone: of each task the scores of trajectory and completion."""
    (result,) = mcpeval()
    records = [
        {**(result if with_calls else {}), "task_id": task, "trajectory_score": first, "completion_score": second}
        for task, (first, second) in scores.items()
    ]
    path.write_text(json.dumps(records))
    return path


def compared(folder: Path, *files: Path) -> ModelComparison:
    with Run.read(make_run(folder / "run.db", files)) as run:
        return compare_models(run)


def test_the_scores_of_mcp_bench_are_measures_of_their_own(tmp_path: Path) -> None:
    comparison = compared(tmp_path, bench_file(tmp_path / "bench.json", 4.0, 8.0))
    (model,) = comparison.models
    assert {f"mcpbench_{name}" for name in (*DIMENSIONS, *RATES)} <= model.figures.keys()
    assert "score" not in model.figures
    grounding = model.figures["mcpbench_grounding"]
    assert grounding.value == pytest.approx(0.6)
    assert grounding.n == 2
    assert grounding.deviation == pytest.approx(0.2 * 2**0.5)
    assert model.figures["mcpbench_overall"].value == pytest.approx((1.0 + 3 * 0.6) / 4)
    assert comparison.sorted_by == "mcpbench_overall"


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_report_shows_them(tmp_path: Path, form: str) -> None:
    printed = render(compared(tmp_path, bench_file(tmp_path / "bench.json", 4.0, 8.0)), form)
    assert "MCP-Bench grounding" in printed
    assert "0.600 ± 0.283" in printed


def test_the_gap_of_mcpevals_scores_and_how_they_go_together_are_shown(tmp_path: Path) -> None:
    scores = {"a": (0.9, 0.8), "b": (0.5, 0.2), "c": (0.7, 0.5)}
    comparison = compared(tmp_path, eval_file(tmp_path / "results.json", scores))
    (model,) = comparison.models
    assert model.figures["mcpeval_gap"].value == pytest.approx(0.2)
    assert model.correlation == pytest.approx(1.0)
    assert re.search(r"MCPEval correlation of the two +1.000\n", render(comparison, "text"))


@pytest.mark.parametrize("scores", [{"a": (0.9, 0.8)}, {"a": (0.9, 0.8), "b": (0.9, 0.2)}])
def test_scores_that_do_not_vary_have_no_correlation(tmp_path: Path, scores: dict[str, tuple[float, float]]) -> None:
    comparison = compared(tmp_path, eval_file(tmp_path / "results.json", scores))
    assert comparison.models[0].correlation is None


def test_a_judges_file_of_its_own_goes_to_the_runs_of_its_tasks(tmp_path: Path) -> None:
    (result,) = mcpeval()
    results = tmp_path / "results.json"
    results.write_text(json.dumps([{**result, "task_id": "a"}, {**result, "task_id": "b"}]))
    judged = eval_file(tmp_path / "results_with_judge.json", {"a": (0.9, 0.8), "b": (0.5, 0.4)}, with_calls=False)
    (model,) = compared(tmp_path, results, judged).models
    assert (model.tasks, model.runs, model.figures["calls_a_task"].value) == (2, 1, 1.0)
    assert model.figures["mcpeval_trajectory"].value == pytest.approx(0.7)


def test_scores_of_a_task_that_several_models_have_go_to_none_of_them(tmp_path: Path) -> None:
    (result,) = mcpeval()
    files = [tmp_path / f"{model}.json" for model in ("m", "n")]
    for file in files:
        file.write_text(json.dumps([{**result, "task_id": "a", "model": file.stem}]))
    judged = eval_file(tmp_path / "judged.json", {"a": (0.9, 0.8)}, with_calls=False)
    figures = {model.model: model.figures for model in compared(tmp_path, *files, judged).models}
    assert "mcpeval_trajectory" not in figures["m"].keys() | figures["n"].keys()


def test_tokens_read_and_written_stand_apart(tmp_path: Path) -> None:
    usage: dict[str, Any] = {"input_tokens": 900, "output_tokens": 100}
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("f/read")], usage=usage)
    (model,) = compared(tmp_path, file).models
    assert [model.figures[name].value for name in ("tokens", "tokens_in", "tokens_out")] == [1000, 900, 100]


def test_an_older_run_file_gets_them_from_its_records(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.db", [bench_file(tmp_path / "bench.json", 4.0)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE task_runs SET score = 4.0, recorded_scores = NULL")
        db.execute("UPDATE meta SET value = '7' WHERE key = 'version'")
        db.commit()
    with Run.read(path) as run:
        figures = compare_models(run).models[0].figures
    assert figures["mcpbench_grounding"].value == pytest.approx(0.4)
    assert "score" not in figures
