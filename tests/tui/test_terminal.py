"""In a real terminal: from `replay browse` to a copied diagnosis."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


BROWSE = (
    "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # `nohup` lets those that it starts ignore it
    "from replay.cli import main; main()"
)


class Terminal:
    """A tmux server of its own, with one window."""

    def __init__(self, directory: Path) -> None:
        self._socket = directory / "tmux"

    def tmux(self, *arguments: str) -> str:
        command = [str(TMUX), "-S", str(self._socket), "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout

    def start(self, command: str, directory: Path, size: tuple[int, int] = (100, 30)) -> None:
        columns, lines = map(str, size)
        self.tmux("new-session", "-d", "-x", columns, "-y", lines, "-c", str(directory), "sh")
        self.tmux("set", "-s", "set-clipboard", "on")
        self.type(command)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait_for(self, text: str, seconds: float = 30) -> str:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if text in (shown := self.screen):
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{text!r} did not come; there is:\n{self.screen}")

    def wait_until_gone(self, text: str, seconds: float = 30) -> None:
        until = time.monotonic() + seconds
        while text in self.screen:
            assert time.monotonic() < until, f"{text!r} is still there"
            time.sleep(0.1)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    subprocess.run([str(TMUX), "-S", str(tmp_path / "tmux"), "kill-server"], check=False, capture_output=True)


def test_from_browse_to_a_copied_diagnosis(terminal: Terminal, sample: Path, tmp_path: Path) -> None:
    kept = tmp_path / "copied.md"
    terminal.start(f"{sys.executable} -m replay browse --run {sample} --clipboard-file {kept}", sample.parent)
    terminal.wait_for("10 calls")
    terminal.press("2")
    terminal.wait_for("4 calls")
    terminal.press("/")
    terminal.wait_for("Tab or Enter takes")
    terminal.type("outcome:not_found server:excel")
    terminal.press("Enter")
    terminal.wait_for("1 call")
    terminal.press("Enter")
    terminal.wait_for("Sheet not found: sheet-0000")
    terminal.press("y")
    terminal.wait_for("Diagnosis copied")
    copied = terminal.tmux("show-buffer")
    assert "excel/read_sheet" in copied
    assert copied.rstrip("\n") == kept.read_text().rstrip("\n")
    terminal.press("q")
    terminal.wait_until_gone("^p Find")


def test_results_files_are_judged_first(terminal: Terminal, sample: Path) -> None:
    files = " ".join(str(path) for path in sorted(sample.parent.glob("*_test_mcp_fuzzy.json")))
    terminal.start(f"{sys.executable} -m replay browse {files}", sample.parent, (80, 24))
    assert "2 files," in terminal.wait_for("4 trajectories")


def test_a_terminal_that_goes_away_ends_the_browser(sample: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", BROWSE, "browse", "--run", str(sample)]
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    assert os.read(ours, 1)
    os.close(ours)
    assert process.wait(30) == -signal.SIGHUP


def test_the_editor_opens_at_the_source(terminal: Terminal, sample: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    editor.chmod(0o755)
    terminal.start(f"EDITOR={editor} {sys.executable} -m replay browse --run {sample}", sample.parent)
    terminal.wait_for("10 calls")
    terminal.press("3")
    terminal.wait_for("step 1")
    terminal.press("o")
    terminal.wait_for("ada_test_mcp_fuzzy.json:3")
    assert (tmp_path / "opened").read_text().strip() == f"+3 {sample.parent}/ada_test_mcp_fuzzy.json"
    assert "step 1" in terminal.screen
