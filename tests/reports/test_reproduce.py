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
    ],
)
def test_only_a_call_that_failed_or_met_an_error_of_its_tool_is_shrunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: str, said: tuple[str, ...], not_said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = [failed("f/read", {"path": "x"}, said) for said in SAID]
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("f/read"), *calls])
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
