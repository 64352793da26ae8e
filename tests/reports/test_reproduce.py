"""The commands at the end of a call's diagnosis are those that the call needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.in_process import replay_here
from tests.runs import call, failed, make_run, write_trajectory

SAID = ("Error: file not found: x", "E7", "429 Too Many Requests")


@pytest.mark.parametrize(
    ("position", "said", "not_said"),
    [
        ("s1c1", ("The call did not fail", "again.db"), "replay shrink"),
        ("s2c1", ("replay shrink", "The run was judged without servers"), "did not fail"),
        ("s3c1", ("replay shrink",), "no failure"),
        ("s4c1", ("no failure of the call to show yet", "again.db"), "replay shrink"),
        ("s5c1", ("no server has it, so it cannot be run again", "again.db"), "replay shrink"),
    ],
)
def test_only_a_call_that_failed_or_met_an_error_of_its_tool_is_shrunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: str, said: tuple[str, ...], not_said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [failed("f/read", {"path": "x"}, said) for said in SAID]
    own = {**failed("Bash", {"command": "cat x"}, "Exit code 1\ncat: x: No such file or directory"), "local": True}
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("f/read"), *calls, own])
    make_run(tmp_path / "run.db", [file])
    text = replay_here("report", "--run", "run.db", "--call", f"t:{position}").stdout
    assert all(words in text for words in said)
    assert not_said not in text


def test_what_a_program_prints_for_a_terminal_alone_stands_in_no_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = "Error: \x1b(B\x1b[0;34mthe disk\x1b[0m is \x1b[1mbent\x1b[m"
    make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", [failed("f/read", {}, said)])])
    text = replay_here("report", "--run", "run.db", "--call", "t:s1c1").stdout
    sentences = "".join(text.split("```")[::2])
    assert "the disk is bent" in sentences
    assert "x1b" not in sentences
    assert "\\x1b[0;34mthe disk" in text  # the answer stands as it came


def test_a_call_of_the_harness_is_not_shrunk_and_a_report_of_its_trajectory_shrinks_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = {**failed("Edit", {"file_path": "x"}, "File does not exist."), "local": True}
    make_run(
        tmp_path / "run.db",
        [write_trajectory(tmp_path / "t.trajectory.json", [own, failed("f/read", {"path": "x"}, SAID[0])])],
    )
    done = replay_here("shrink", "--run", "run.db", "--call", "t:s1c1")
    assert (done.returncode, "s1c1 cannot be shrunk: a tool of the harness" in done.stderr) == (2, True)
    shown = replay_here("report", "--run", "run.db", "--trajectory", "t").stdout
    assert "replay shrink --run run.db --call t:s2c1" in shown
