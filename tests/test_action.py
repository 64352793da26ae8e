"""The GitHub Action's steps, run as a runner runs them; and the hook for pre-commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import replay
from tests.conftest import record
from tests.in_process import replay_here
from tests.scripts import ROOT

STEPS = {step["id"]: step for step in yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]}
HOSTILE = "Error: ENOENT: no such file or directory, open 'x'\n::error::planted"
Step = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    (tmp_path / "bin").mkdir()
    for name, words in (("replay", " -m replay"), ("python", "")):
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        script.chmod(0o755)
    files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    path = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        known = {"PATH": path, "HOME": str(tmp_path), **files, **environment}
        return subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, text=True, check=False)

    return run


def write_results(path: Path, answer: str) -> None:
    path.write_text(json.dumps([record("task", [[("look/look", {"at": "x"}, answer)]])]))


def test_the_steps_judge_annotate_and_compare_with_the_main_branch(step: Step, tmp_path: Path) -> None:
    write_results(tmp_path / "results.json", "all well")
    assert step("judge", FILES="results.json", SERVERS="").returncode == 0
    assert step("compare", FAIL_ON="worse,new", BASELINE="baseline/one").returncode == 0
    assert "There is no run of the main branch yet" in (tmp_path / "replay-comment.md").read_text()
    assert step("collect", BASELINE="baseline/one").returncode == 0

    write_results(tmp_path / "results.json", HOSTILE)
    judged = step("judge", FILES="results.json", SERVERS="")
    assert judged.returncode == 0, judged.stderr
    annotated = step("annotate", ACTION=str(ROOT))
    assert annotated.returncode == 0, annotated.stderr
    (line,) = annotated.stdout.splitlines()
    assert line.startswith("::warning file=results.json,title=look/look%3A not found::task:s1c1: ")
    compared = step("compare", FAIL_ON="worse,new", BASELINE="baseline/one")
    assert compared.returncode == 0, compared.stderr
    output = tmp_path / "GITHUB_OUTPUT"
    assert "code=1" in output.read_text()
    assert step("compare", FAIL_ON="", BASELINE="baseline/one").returncode == 0
    assert output.read_text().splitlines()[-1] == "code=0"
    assert step("end", CODE="1", JUDGED="0").returncode == 1


def test_files_may_stand_line_by_line_and_what_an_earlier_use_judged_does_not_count(step: Step, tmp_path: Path) -> None:
    for number in range(3):
        write_results(tmp_path / f"{number}.json", HOSTILE)
    assert step("judge", FILES="0.json", SERVERS="").returncode == 0
    judged = step("judge", FILES="1.json\n2.json\n", SERVERS="")
    assert judged.returncode == 0, judged.stderr
    with replay.open_run(tmp_path / "replay-run.db") as run:
        assert sorted(row.file for row in run.calls()) == ["1.json", "2.json"]


def test_each_choice_of_files_and_servers_has_a_baseline_of_its_own(step: Step, tmp_path: Path) -> None:
    for files in ("a/*.json fleet.yaml", "a/*.json fleet.yaml", "b/*.json fleet.yaml"):
        assert step("folder", JUDGED=files).returncode == 0
    first, again, other = (tmp_path / "GITHUB_OUTPUT").read_text().splitlines()
    assert first == again != other
    (name, folder) = first.split("=")
    assert (name, Path(folder).parent) == ("baseline", Path("replay-baseline"))


def test_a_file_that_cannot_be_read_fails_the_job_after_the_rest_is_reported(step: Step, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    write_results(tmp_path / "results" / "whole.json", HOSTILE)
    (tmp_path / "results" / "cut.json").write_text('[{"id": "task", "steps": [{"calls": [{"name": "look')
    judged = step("judge", FILES="results", SERVERS="")
    assert judged.returncode == 0, judged.stderr
    assert "1 failed" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "code=3" in (tmp_path / "GITHUB_OUTPUT").read_text()
    assert step("end", CODE="0", JUDGED="3").returncode == 3
    assert step("judge", FILES="nowhere", SERVERS="").returncode == 2


def test_what_the_action_installs_by_default_is_the_package_of_its_own_checkout() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    assert inputs["package"]["default"] == ""  # the package is on no index
    assert STEPS["install"]["env"]["PACKAGE"] == "${{ inputs.package || github.action_path }}"
    assert (ROOT / "action.yml").parent == (ROOT / "pyproject.toml").parent


def test_no_step_puts_an_input_into_its_script() -> None:
    assert [name for name, step in STEPS.items() if "${{" in step.get("run", "")] == []


def test_the_hook_refuses_a_trajectory_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    words = hook["entry"].split()[1:]
    write_results(tmp_path / "good.trajectory.json", "all well")
    Path("bad.trajectory.json").write_text("{")
    assert replay_here(*words, "good.trajectory.json").returncode == 0
    assert replay_here(*words, "good.trajectory.json", "bad.trajectory.json").returncode == 2
