"""`replay ... | head`: what was found is still told by the exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs import failed, make_run, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]


def code_without_reader(directory: Path, *words: str) -> int:
    """The exit code of a verb whose stdout nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "replay", *words], cwd=directory, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert b"Broken pipe" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    return done.returncode


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_fail_on_tells_by_its_code_also_where_nobody_reads(tmp_path: Path, form: tuple[str, ...]) -> None:
    write_trajectory(tmp_path / "t.trajectory.json", [failed("files/read", {"path": "b"}, "ENOENT: no such file 'b'")])
    words = ("classify", "t.trajectory.json", "--offline", *form)
    assert code_without_reader(tmp_path, *words, "--fail-on", "not_found") == 1
    assert code_without_reader(tmp_path, *words) == 0


def test_diff_tells_by_its_code_also_where_nobody_reads(tmp_path: Path) -> None:
    for name, answer in (("before", "fine"), ("after", "ENOENT: no such file 'b'")):
        call = failed("files/read", {"path": "b"}, answer)
        call["answer"]["is_error"] = name == "after"
        directory = tmp_path / name
        directory.mkdir()
        make_run(tmp_path / f"{name}.db", [write_trajectory(directory / "t.trajectory.json", [call])])
    assert code_without_reader(tmp_path, "diff", "before.db", "after.db", "--fail-on", "worse") == 1
