"""What a run holds of a results file follows the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.runfile import Run, call_rows
from tests.in_process import replay_here

ANSWERED = [[("web/search", {"q": "x"}, "found")]]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def held() -> list[tuple[str, str]]:
    with Run.read(Path("replay-run.db")) as run:
        return sorted((row.model, row.trajectory) for row in call_rows(run))


def chat(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    call = {"id": "c", "type": "function", "function": {"name": "web-search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "found"},
    ]
    path.write_text(json.dumps({"messages": messages}))


def test_files_that_are_read_with_other_names_count_once_and_under_the_names_of_now(tmp_path: Path) -> None:
    for name in ("gpt_paper.json", "gpt_slides.json", "opus_paper.json"):
        chat(tmp_path / "results" / name)
    assert replay_here("classify", "results", "--offline", "--names", "{task}_{model}.json").returncode == 0
    assert held() == [("paper", "gpt"), ("paper", "opus"), ("slides", "gpt")]
    done = replay_here("classify", "results", "--offline", "--names", "{model}_{task}.json")
    assert held() == [("gpt", "paper"), ("gpt", "slides"), ("opus", "paper")]
    assert (
        "gpt_paper.json: 1 trajectory that is not in it any more, or named otherwise now, left the run" in done.stderr
    )


def test_a_task_that_was_taken_out_of_its_file_leaves_the_run(results_file: Callable[..., Path]) -> None:
    results = results_file(a=ANSWERED, b=ANSWERED)
    other = results_file("other_test_mcp_fuzzy.json", b=ANSWERED)
    assert replay_here("classify", results, other, "--offline").returncode == 0
    results_file(a=ANSWERED)
    assert replay_here("classify", results, "--offline").returncode == 0
    assert held() == [("other", "b"), ("tiny", "a")]


def test_what_a_limit_leaves_out_stays_in_the_run(results_file: Callable[..., Path]) -> None:
    results = results_file(a=ANSWERED, b=ANSWERED)
    assert replay_here("classify", results, "--offline").returncode == 0
    assert replay_here("classify", results, "--offline", "--limit", "1").returncode == 0
    assert held() == [("tiny", "a"), ("tiny", "b")]
