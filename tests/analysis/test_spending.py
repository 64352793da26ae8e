from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.analysis.spending import spending_of
from replay.reports.basis import spending_line
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory


@pytest.fixture
def run(tmp_path: Path) -> Path:
    calls = [
        call("files/list", {}, "a", started=3600.0, seconds=1.0),
        failed("files/read", {"path": "a"}, "Error: request timed out after 30 seconds") | {"seconds": 30.0},
        call("files/read", {"path": "b"}, "text", seconds=9.0),
        call("files/list", {}, "a"),
    ]
    path = write_trajectory(tmp_path / "t.trajectory.json", calls, model="ada")
    document = json.loads(path.read_text())
    for step, tokens in zip(document["steps"], (100, 100, 200), strict=False):
        step["usage"] = {"input_tokens": tokens - 1, "output_tokens": 1}
    path.write_text(json.dumps(document))
    return make_run(tmp_path / "run.db", [path])


def test_seconds_and_tokens_are_summed_by_model_tool_and_task(run: Path) -> None:
    with Run.read(run) as opened:
        spending = spending_of(opened)
    assert [(row.by, row.name, row.timed, row.seconds, row.tokens) for row in spending] == [
        ("all", "", 3, 40.0, 400),
        ("model", "ada", 3, 40.0, 400),
        ("tool", "files/read", 2, 39.0, 300),
        ("tool", "files/list", 1, 1.0, 100),
        ("task", "t", 3, 40.0, 400),
    ]
    whole = spending[0]
    assert (whole.failed_seconds, whole.longest) == (30.0, 30.0)
    assert (whole.failed_tokens, whole.tokens_after_fault) == (100, 200)
    assert spending_line(spending) == (
        "50 % of the tokens were spent after the first fault of the environment, and 25 % on replies of which no call "
        "succeeded; of 40 seconds in calls 75 % went to calls that did not succeed, and 98 % to files/read"
    )


def test_classify_and_the_page_say_what_failures_cost(run: Path, replay: Any, tmp_path: Path) -> None:
    printed = replay("classify", "--offline", "--run", run, tmp_path / "t.trajectory.json", "--json")
    spending = json.loads(printed.stdout)["spending"]
    assert (spending[0]["by"], spending[0]["seconds"], spending[0]["tokens_after_fault"]) == ("all", 40.0, 200)
    replay("report", "--run", run, "-o", tmp_path / "page.html")
    assert "75 % went to calls that did not succeed" in (tmp_path / "page.html").read_text()


def test_compare_says_what_failures_cost(run: Path, replay: Any) -> None:
    assert "50 % of the tokens were spent after the first fault of the environment" in replay("compare", run).stdout
    assert json.loads(replay("compare", run, "--json").stdout)["spending"][0]["tokens_after_fault"] == 200


def test_where_no_file_says_what_calls_took_nothing_is_said(tmp_path: Path) -> None:
    path = write_trajectory(tmp_path / "t.trajectory.json", [call("files/list", {}, "a")], model="ada")
    with Run.read(make_run(tmp_path / "run.db", [path])) as opened:
        assert spending_line(spending_of(opened)) == ""
