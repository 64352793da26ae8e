"""`replay show --run`: a trajectory of a run with what became of its calls."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.reports.json_ import ShownRun, ShownTrajectory
from tests.tui.sample import sample_run

Replay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> str:
    sample_run(tmp_path)
    return "sample.db"


def test_the_outcome_stands_under_each_call(replay: Replay, run: str) -> None:
    shown = replay("show", "--run", run, "ada:sales").stdout
    assert "N not found: The thing asked for is not there" in shown
    assert "A invalid arguments" in shown
    assert shown.count("S success") == 2


def test_without_an_id_the_trajectories_are_listed_with_names_that_find_them(replay: Replay, run: str) -> None:
    lines = replay("show", "--run", run).stdout.splitlines()
    assert len(lines) == 4
    assert "ada:films" in lines[1]
    assert "2 success" in lines[1]
    assert replay("show", "--run", run, "ada:films").returncode == 0
    assert len(ShownRun.model_validate_json(replay("show", "--run", run, "--json").stdout).trajectories) == 4


def test_graphs_and_json_have_the_outcomes(replay: Replay, run: str) -> None:
    assert '"N s3c1 excel/read_sheet"' in replay("show", "--run", run, "ada:sales", "--dot").stdout
    assert "N s3c1" in replay("show", "--run", run, "ada:sales", "--mermaid").stdout
    document = json.loads(replay("show", "--run", run, "ada:sales", "--json").stdout)
    assert document["outcomes"]["s3c1"] == "not_found"
    assert ShownTrajectory.model_validate(document).outcomes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--run", "absent.db"], "there is no run"),
        (["--run", "sample.db", "nope"], "there is no trajectory nope"),
        (["--run", "sample.db", "--dot"], "say which"),
        (["--run", "sample.db", "file.json", "sales"], "--run takes the place of FILE"),
        ([], "name a FILE, or a run with --run"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_line(replay: Replay, run: str, arguments: list[str], words: str) -> None:
    done = replay("show", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_of_the_calls_that_a_filter_matches(replay: Replay, run: str) -> None:
    rows = replay("report", "--run", run, "--filter", "outcome:not_found", "--format", "csv").stdout.splitlines()
    assert len(rows) == 3
    document = json.loads(replay("report", "--run", run, "--filter", "outcome:failed", "--format", "json").stdout)
    assert {call["outcome"] for call in document["calls"]} == {"unknown_tool", "invalid_arguments", "not_found"}
    nothing = replay("report", "--run", run, "--filter", "tool:sum_sheet outcome:failed")
    assert (nothing.returncode, "no call of this run matches" in nothing.stderr) == (2, True)
    both = replay("report", "--run", run, "--filter", "outcome:failed", "--model", "ada")
    assert "do not go together" in both.stderr
