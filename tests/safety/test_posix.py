"""Where fcntl, resource and termios are missing, as on Windows, recorded answers are judged and reported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HIDDEN = """
import os, signal, sys
for name in ("fcntl", "resource", "termios", "pwd"):
    sys.modules[name] = None
for name in ("geteuid", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY"):
    delattr(os, name)
del signal.SIGHUP
from replay.cli import main
main()
"""
STEPS = [[("look/look", {"at": "x"}, "Error: ENOENT: no such file or directory, open 'x'")]]


@pytest.fixture
def without_posix(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", HIDDEN, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def test_recorded_answers_are_judged_compared_and_reported(
    without_posix: Callable[..., subprocess.CompletedProcess[str]], results_file: Callable[..., Path]
) -> None:
    judged = without_posix("classify", "--offline", results_file(task=STEPS))
    assert (judged.returncode, "not found" in judged.stdout) == (0, True), judged.stderr
    for verb in (["report", "-o", "page.html"], ["compare"], ["browse", "--help"]):
        done = without_posix(*verb)
        assert done.returncode == 0, done.stderr


def test_what_starts_servers_says_that_it_cannot(
    without_posix: Callable[..., subprocess.CompletedProcess[str]],
    results_file: Callable[..., Path],
    fleet_file: Callable[..., Path],
) -> None:
    done = without_posix("classify", results_file(task=STEPS), "--servers", fleet_file(look="annotated.py"))
    assert done.returncode == 2
    assert "Starting servers needs Linux, macOS or WSL" in done.stderr


def test_the_browser_loads_without_them() -> None:
    script = HIDDEN.replace("from replay.cli import main\nmain()", "import replay_tui.app")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    # Textual itself takes its driver for Windows by the platform, so that here it is enough that ours loads
    assert "replay" not in done.stderr.rpartition("File ")[2], done.stderr
