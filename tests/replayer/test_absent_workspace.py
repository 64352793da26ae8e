"""Calls whose files are not here are not the model's failures, and it says which setting brings them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.records import TextAnswer
from replay.replayer.verdict import absent_path
from replay.runfile import Run, call_rows

Replay = Callable[..., subprocess.CompletedProcess[str]]
RECORDED = "/data/published/ws"


@pytest.fixture
def results(tmp_path: Path, results_file: Callable[..., Path]) -> Path:
    """Three calls as a published run recorded them: a file that was there, one that was not, one outside."""
    (tmp_path / "template").mkdir()
    (tmp_path / "template" / "plan.txt").write_text("all of it")
    return results_file(
        t=[
            [("notes/read", {"path": f"{RECORDED}/plan.txt"}, "all of it")],
            [("notes/read", {"path": f"{RECORDED}/gone.txt"}, f"Error: file not found: {RECORDED}/gone.txt")],
        ]
    )


def fleet(tmp_path: Path, workspace: dict[str, Any] | None = None) -> None:
    import sys

    from tests.conftest import SERVERS

    notes = {
        "command": sys.executable,
        "args": [str(SERVERS / "notes.py"), "${workspace}"],
        "state": "trajectory",
        "effects": "sandboxed",
    }
    document = {"version": 1, "servers": {"notes": notes}, **({"workspace": workspace} if workspace else {})}
    (tmp_path / "servers.yaml").write_text(json.dumps(document))


def rows(tmp_path: Path) -> dict[str, Any]:
    with Run.read(tmp_path / "replay-run.db") as run:
        return {row.call: row for row in call_rows(run)}


def test_without_its_workspace_a_recorded_success_is_judged_by_the_recording(
    tmp_path: Path, replay: Replay, results: Path
) -> None:
    fleet(tmp_path)
    done = replay("classify", results)
    first = rows(tmp_path)["s1c1"]
    assert (first.outcome, first.evidence, first.divergence) == ("success", "recorded", "environment")
    assert first.absent_path == f"{RECORDED}/plan.txt"
    assert "2 of them judged by the recording" in done.stdout
    assert f"workspace.recorded_as: {RECORDED}" in done.stdout
    again = replay("classify", results, "--offline")
    assert f"workspace.recorded_as: {RECORDED}" in again.stdout


def test_with_the_setting_that_is_named_the_replay_agrees(tmp_path: Path, replay: Replay, results: Path) -> None:
    fleet(tmp_path, {"template": "template", "recorded_as": [RECORDED]})
    done = replay("classify", results)
    found = rows(tmp_path)
    assert (found["s1c1"].outcome, found["s1c1"].evidence) == ("success", "replay")
    assert found["s2c1"].outcome == "not_found"
    assert "recorded_as" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "error", "path"),
    [
        ({"path": "/a/b/c.txt"}, "ENOENT: no such file, open '/a/b/c.txt'", "/a/b/c.txt"),
        ({"path": "/a/b/my plan.txt"}, "my plan.txt does not exist", "/a/b/my plan.txt"),
        ({"command": "cat /a/b/c.txt | head"}, "cat: /a/b/c.txt: No such file or directory", "/a/b/c.txt"),
        ({"path": "c.txt"}, "c.txt not found", None),
        ({"path": "/a/b/c.txt", "mode": "x"}, "mode must be r or w", None),
        ({"url": "https://example.org/a/b"}, "404: https://example.org/a/b", None),
    ],
)
def test_the_path_that_an_error_speaks_of(arguments: dict[str, Any], error: str, path: str | None) -> None:
    assert absent_path(arguments, TextAnswer(text=error)) == path
