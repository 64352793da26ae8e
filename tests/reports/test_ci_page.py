"""The job of docs/ci.md is valid, and its commands do what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.runs import call, failed, make_run, schema, server, write_trajectory

PAGE = (Path(__file__).parents[2] / "docs" / "ci.md").read_text("utf-8")
FILES = server("files", read=schema("path"))


def job() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    return document["jobs"]["tool-calls"]  # type: ignore[no-any-return]


def commands() -> list[list[str]]:
    """Every `replay` command of the job, without pipes and redirections."""
    lines = (line.strip() for step in job()["steps"] for line in step.get("run", "").splitlines())
    return [shlex.split(re.split(r"[|>]", line)[0])[1:] for line in lines if line.startswith("replay ")]


def test_the_job_fails_on_a_new_failure_and_not_without_one(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    compare = next(words for words in commands() if words[0] == "diff")
    (tmp_path / "baseline").mkdir()
    good, lost = call("files/read", {"path": "a"}, "text"), failed("files/read", {"path": "a"}, "File a not found")
    old = write_trajectory(tmp_path / "baseline" / "t.trajectory.json", [good])
    make_run(tmp_path / "baseline" / "replay-run.db", [old], FILES)
    new = write_trajectory(tmp_path / "t.trajectory.json", [good])
    make_run(tmp_path / "replay-run.db", [new], FILES)
    assert replay(*compare).returncode == 0
    write_trajectory(new, [good, lost])
    make_run(tmp_path / "replay-run.db", [new], FILES)
    assert replay(*compare).returncode == 1


def test_the_reports_of_the_job_can_be_written(
    tmp_path: Path, replay: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("files/read", {"path": "a"}, "text")])
    make_run(tmp_path / "replay-run.db", [file], FILES)
    for words in (one for one in commands() if one[0] == "report"):
        assert replay(*words).returncode == 0
    assert (tmp_path / "replay.xml").exists()
    assert (tmp_path / "replay.html").exists()
