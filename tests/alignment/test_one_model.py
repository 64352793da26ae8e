"""Files of one model are one model everywhere: in the table, the run, the page and `diff`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.runfile import Run, summarize
from replay.runfile.alignment_queries import aligned_models, aligned_tasks, trajectory_of
from tests.runs import call, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def aligned(tmp_path: Path, replay: Replay) -> Path:
    """Two models with a file a task; `good` has both reference calls, `half` one of them."""
    for model in ("good", "half"):
        (tmp_path / model).mkdir()
        for task in ("t1", "t2"):
            tool = "a/other" if (model, task) == ("half", "t2") else "a/b"
            write_trajectory(tmp_path / model / f"{task}.trajectory.json", [call(tool, {"x": task})], model=model)
    (tmp_path / "reference").mkdir()
    records = [
        {"id": task, "question": "?", "steps": [{"step": 1, "calls": [{"name": "a/b", "arguments": {"x": task}}]}]}
        for task in ("t1", "t2")
    ]
    (tmp_path / "reference" / "ref.json").write_text(json.dumps(records))
    files = sorted(path for model in ("good", "half") for path in (tmp_path / model).iterdir())
    assert replay("classify", *files, "--offline").returncode == 0
    done = replay("align", *files, "--reference", "reference/ref.json", "--json", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    return tmp_path / "replay-run.db"


def test_the_run_holds_one_alignment_a_model_and_finds_each_of_its_trajectories(aligned: Path) -> None:
    with Run.read(aligned) as run:
        models = aligned_models(run.connection)
        assert [(model.model, model.aggregate.recall) for model in models.values()] == [("good", 1.0), ("half", 0.5)]
        for file, model in models.items():
            tasks = aligned_tasks(run.connection, file)
            rows = [trajectory_of(run.connection, model, task.id) for task in tasks]
            assert [task.id for task in tasks] == ["t1", "t2"]
            assert len(set(rows)) == 2
            assert None not in rows


@pytest.mark.usefixtures("aligned")
def test_diff_compares_all_files_of_a_model(replay: Replay) -> None:
    done = replay("diff", "replay-run.db", "--models", "good", "half", "--json")
    metrics = {change["metric"]: change for change in json.loads(done.stdout)["metrics"]}
    assert (metrics["recall"]["before"], metrics["recall"]["after"]) == (1.0, 0.5)


def test_json_says_how_many_verdicts_of_the_run_rest_on_nothing(aligned: Path, replay: Replay) -> None:
    words = ("align", "half", "good", "--reference", "reference/ref.json", "--json")
    document = json.loads(replay(*words).stdout)
    with Run.read(aligned) as run:
        assert document["certainties"] == summarize(run).certainties
    aligned.unlink()
    assert "certainties" not in json.loads(replay(*words).stdout)


@pytest.mark.usefixtures("aligned")
def test_aligning_one_of_the_files_again_leaves_no_second_row_of_its_model(aligned: Path, replay: Replay) -> None:
    assert replay("align", "half/t2.trajectory.json", "--reference", "reference/ref.json").returncode == 0
    with Run.read(aligned) as run:
        models = [(model.model, model.aggregate.recall) for model in aligned_models(run.connection).values()]
    assert sorted(models) == [("good", 1.0), ("half", 0.0)]
