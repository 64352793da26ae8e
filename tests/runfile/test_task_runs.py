from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.runfile import Run
from replay.runfile.compare_queries import models_to_compare, task_pairs
from replay.runfile.salvage import salvage_run
from tests.runs import call, make_run, write_trajectory

CALLS = [{"id": "1", "type": "function", "function": {"name": "files-read", "arguments": "{}"}}]
MESSAGES = [
    {"role": "user", "content": "What is there?"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "1", "content": "this"},
]


def task_runs(run: Run) -> list[tuple[Any, ...]]:
    query = "SELECT model, task, labels, parent, passed, score, input_tokens, output_tokens FROM task_runs"
    return run.connection.execute(query).fetchall()


@pytest.fixture
def run_of(tmp_path: Path) -> Iterator[Any]:
    def make(name: str, record: Any, names: str | None = None) -> Run:
        path = tmp_path / name
        path.write_text(json.dumps(record))
        opened = open_file(path, FileNames(names))
        run = Run.open(tmp_path / "run.db")
        for trajectory in opened.trajectories():
            run.begin(trajectory, file=opened.path, format=opened.format, policy="")
        runs.append(run)
        return run

    runs: list[Run] = []
    yield make
    for run in runs:
        run.close()


def test_the_verdict_that_a_chat_file_holds_is_kept(run_of: Any) -> None:
    record = {"pass": False, "failure": "33 files expected", "messages": MESSAGES, "usage": {"prompt_tokens": 7}}
    (found,) = task_runs(run_of("gpt-5_ta-hws.json", record, "{model}_{task}.json"))
    assert found == ("gpt-5", "ta-hws", "{}", None, 0, None, 7, None)


def test_a_reward_a_difficulty_and_a_field_of_the_name_are_kept(run_of: Any) -> None:
    record = {"reward": 0.5, "difficulty": "hard", "messages": MESSAGES}
    (found,) = task_runs(run_of("gpt-5_eu_1.json", record, "{model}_{region}_{task}.json"))
    assert found[2:6] == ('{"difficulty": "hard", "region": "eu"}', None, None, 0.5)


def test_what_is_not_a_verdict_is_none(run_of: Any) -> None:
    (found,) = task_runs(run_of("t.json", {"pass": None, "score": "high", "messages": MESSAGES}))
    assert found[4:6] == (None, None)


def test_the_trials_of_a_task_are_runs_of_it(run_of: Any) -> None:
    tries: list[dict[str, Any]] = [
        {"task_id": 3, "trial": trial, "reward": float(trial), "info": {}, "traj": MESSAGES} for trial in (0, 1)
    ]
    found = task_runs(run_of("gpt.json", tries))
    assert [(task, passed) for _, task, _, _, passed, *_ in found] == [("3", 0), ("3", 1)]


def test_a_saved_run_has_its_task_runs_again(tmp_path: Path) -> None:
    reported = {"passed": True, "score": 1.0}
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("files/read")], reported=reported)
    path = make_run(tmp_path / "run.db", [file])
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM task_runs")
        db.commit()
    salvage_run(path, tmp_path / "saved.db")
    with Run.read(tmp_path / "saved.db") as run:
        assert [(row[1], row[4], row[5]) for row in task_runs(run)] == [("t", 1, 1.0)]


def test_a_call_that_is_judged_anew_takes_the_findings_of_its_trajectory_with_it(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", [call("files/read")])])
    with Run.open(path) as run:
        run.connection.execute("INSERT INTO findings VALUES (1, 0, 'empty-answer', 'certain', 1)")
        run.connection.execute("UPDATE task_runs SET diagnosed = 1")
        run.connection.execute("DELETE FROM calls")
        assert run.connection.execute("SELECT count(*) FROM findings").fetchone() == (0,)
        assert run.connection.execute("SELECT diagnosed FROM task_runs").fetchone() == (0,)


def test_what_made_no_call_is_no_model_to_compare(tmp_path: Path) -> None:
    calls: dict[str, list[Any]] = {"ada": [], "bob": [call("f/read")], "eve": [call("f/read")]}
    files = [write_trajectory(tmp_path / f"{name}.trajectory.json", calls[name], model=name) for name in calls]
    with Run.read(make_run(tmp_path / "run.db", files)) as run:
        assert [side.model for side in models_to_compare(run.connection)] == ["bob", "eve"]


def test_of_several_runs_of_a_task_each_stands_beside_one_of_the_other_model(tmp_path: Path) -> None:
    paths = []
    for model, runs in (("first", 3), ("second", 2)):
        for run in range(runs):
            answer = "no such file" if run else "text"
            made = [call("files/read", {"path": "/w"}, answer, error=bool(run))]
            (tmp_path / model / f"run-{run}").mkdir(parents=True)
            paths.append(write_trajectory(tmp_path / model / f"run-{run}" / "t.trajectory.json", made, model=model))
    with Run.read(make_run(tmp_path / "run.db", paths)) as run_file:
        pairs = task_pairs(run_file.connection, *models_to_compare(run_file.connection))
    assert [(pair.name, pair.failed) for pair in pairs] == [("t, run 1", (0, 0)), ("t, run 2", (1, 1))]
