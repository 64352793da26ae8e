"""Nothing that stands in a run file decides what starts."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SERVERS

Replay = Callable[..., subprocess.CompletedProcess[str]]

READING_VERBS = [
    ["report", "--run", "evil.db"],
    ["report", "--run", "evil.db", "--call", "t:s1c1"],
    ["diff", "evil.db", "evil.db"],
    ["tools", "evil.db"],
    ["export", "--run", "evil.db", "--format", "openai", "-o", "out"],
    ["cassette", "export", "--run", "evil.db", "out.json"],
    ["recover", "evil.db"],
]


@pytest.fixture
def evil(tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path]) -> Path:
    """A folder with a run of one failed call, made elsewhere, and an evil fleet file."""
    steps = [{"step": 1, "calls": [{"name": "mine/nothing", "arguments": {}, "result": "Error: unknown tool nothing"}]}]
    (tmp_path / "r.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": steps}]))
    assert replay("classify", "r.json", "--offline", "--run", "evil.db").returncode == 0
    (tmp_path / "start.py").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()")
    (tmp_path / "hidden").mkdir()
    for place in ("hidden/fleet.yaml", "evil.yaml", ".mcp.json"):
        spec = {"command": sys.executable, "args": [str(tmp_path / "start.py")], "effects": "all"}
        (tmp_path / place).write_text(json.dumps({"servers": {"mine": spec}}))
    return tmp_path


def plant(folder: Path, command: object) -> None:
    text = command if isinstance(command, str) else json.dumps(command)
    with sqlite3.connect(folder / "evil.db") as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('command', ?)", (text,))
    db.close()


@pytest.mark.parametrize(
    "servers",
    [
        "{folder}/evil.yaml",
        "evil.yaml",
        "./evil.yaml",
        "hidden/fleet.yaml",
        "hidden/../evil.yaml",
        "{folder}/hidden/fleet.yaml",
        "file://{folder}/evil.yaml",
        ".mcp.json",
        "/proc/self/cwd/evil.yaml",
        "../{name}/evil.yaml",
        "",
    ],
)
@pytest.mark.parametrize("local", [False, True])
def test_the_fleet_that_a_run_names_is_never_started(evil: Path, replay: Replay, servers: str, local: bool) -> None:
    named = servers.format(folder=evil, name=evil.name)
    plant(evil, {"servers": named, "allow_effects": ["mine"], "names": None, "rebinding": True})
    if local:
        spec = {"command": sys.executable, "args": [str(SERVERS / "todo.py")], "effects": "all"}
        (evil / "servers.yaml").write_text(json.dumps({"servers": {"mine": spec}}))
    done = replay("shrink", "--run", "evil.db", "--call", "t:s1c1")
    assert not (evil / "ran").exists()
    if local:
        assert "servers.yaml starts" in done.stderr
        assert "todo.py" in done.stderr
    else:
        assert done.returncode == 2
        assert "no fleet file" in done.stderr


@pytest.mark.parametrize("words", READING_VERBS, ids=" ".join)
def test_no_verb_that_reads_a_run_starts_what_it_names(evil: Path, replay: Replay, words: list[str]) -> None:
    plant(evil, {"servers": str(evil / "evil.yaml"), "allow_effects": ["mine"], "names": None, "rebinding": True})
    assert "Usage:" not in replay(*words).stderr
    assert not (evil / "ran").exists()
