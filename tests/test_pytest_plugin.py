"""The plugin for pytest, in a pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import record

MISSING = "Error: ENOENT: no such file or directory, open 'there'"
STEPS: list[list[tuple[Any, ...]]] = [
    [("look/look", {"at": "here"}, "then")],
    [("look/gone", {"at": "there"}, MISSING)],
]
TEST = """
import pytest

@pytest.mark.replay("calls.json", servers="servers.yaml")
def test_calls(replay_run):
    call = replay_run.calls()[0]
    assert (call.outcome, call.evidence) == ("success", EVIDENCE)

@pytest.mark.replay("calls.json", servers="servers.yaml", cassette="kept/other.jsonl")
def test_other(replay_run):
    pass

@pytest.mark.replay("calls.json")
def test_new(replay_run, assert_no_new_failures):
    assert_no_new_failures(replay_run)

def test_unmarked(replay_run):
    pass
"""

Run = Callable[..., str]


@pytest.fixture
def run_tests(tmp_path: Path, fleet_file: Callable[..., Path]) -> Run:
    fleet_file(look="annotated.py")
    (tmp_path / "calls.json").write_text(json.dumps([record("task", STEPS)]))

    def run(*options: str, evidence: str = "replay") -> str:
        (tmp_path / "test_it.py").write_text(TEST.replace("EVIDENCE", repr(evidence)))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA"]
        done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    return run


def test_a_cassette_is_recorded_on_the_first_run_and_answers_from_then_on(run_tests: Run, tmp_path: Path) -> None:
    first = run_tests()
    assert "PASSED test_it.py::test_calls" in first
    assert "1 new failures (replay known add FINGERPRINT notes one)" in first
    assert "replay_run needs the marker" in first
    (tmp_path / "kept/other.jsonl").unlink()
    assert [path.name for path in (tmp_path / "cassettes").iterdir()] == ["test_it.test_calls.jsonl"]
    second = run_tests("-k", "calls or other", "--record-mode", "none", evidence="stored")
    assert "PASSED test_it.py::test_calls" in second
    assert "kept/other.jsonl; record it with --record-mode once" in second
    changed: list[list[tuple[Any, ...]]] = [[("look/look", {"at": "elsewhere"}, "then")]]
    (tmp_path / "calls.json").write_text(json.dumps([record("task", changed)]))
    third = run_tests("-k", "calls", evidence="stored")
    assert "has no answer to task:s1c1; record it anew with --record-mode all" in third
