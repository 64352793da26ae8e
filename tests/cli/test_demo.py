"""`replay demo` runs from the package alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from replay.cli.terminal import typed_command
from replay.runfile import Run, call_rows
from tests.in_process import replay_here
from tests.scripts import script

demo_data = script("demo_data")


@pytest.mark.parametrize("source", demo_data.sources(), ids=lambda path: path.name)
def test_the_demo_judges_the_samples_of_the_clone(source: Path) -> None:
    assert (demo_data.DEMO / source.name).read_bytes() == source.read_bytes(), "stale: run docs/demo_data.py"


def test_the_demo_needs_no_network_no_servers_and_no_environment(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    command, environment = [sys.executable, "-m", "replay", "demo"], {"HOME": str(home)}
    done = subprocess.run(command, check=True, cwd=home, env=environment, capture_output=True, text=True)
    assert "all        27 of 28 (96 %)  1   3.7%  3  11.1%   1   3.7%  4  14.8%  18  66.7%" in done.stdout
    assert "Next: replay browse --run replay-demo.db" in done.stdout
    assert [path.name for path in home.iterdir()] == ["replay-demo.db"]
    assert "could not be started" not in done.stderr


@pytest.mark.parametrize(
    ("program", "prefix", "variables", "typed"),
    [
        ("/venv/bin/replay", "/venv", {}, "replay"),
        ("/venv/bin/mcp-replay", "/venv", {}, "replay"),
        ("/home/.cache/uv/x/bin/mcp-replay", "/home/.cache/uv/x", {"UV": "/usr/bin/uv"}, "uvx mcp-replay"),
        ("/home/.cache/pipx/x/bin/mcp-replay", "/home/.cache/pipx/x", {"UV": "/usr/bin/uv"}, "pipx run mcp-replay"),
        ("/home/pipx/venvs/mcp-replay/bin/mcp-replay", "/home/pipx/venvs/mcp-replay", {}, "replay"),
    ],
)
def test_the_next_commands_are_those_that_work_where_the_demo_was_started(
    program: str, prefix: str, variables: dict[str, str], typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", [program, "demo"])
    monkeypatch.setattr(sys, "prefix", prefix)
    assert " ".join(typed_command()) == typed


def test_the_demo_asks_every_answer_of_its_cassette(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "servers.yaml").write_text("servers:\n  mine: {command: there-is-no-such-command}\n")
    replay_here("demo")
    with Run.read(tmp_path / "replay-demo.db") as run:
        evidence = [row.evidence for row in call_rows(run)]
    assert evidence.count("stored") == 23
