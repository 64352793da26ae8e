"""Where the kernel keeps no server inside, a call that names a path outside is withheld, and said so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.interpreter import interpreter
from replay.interpreter.session import launch
from tests.in_process import replay_here

OUTSIDE = [
    "/anywhere/x",
    "/workspace/../../x",
    "../x",
    "~/x",
    "$HOME/x",
    "file:///x",
    "ATTACH '/x.db' AS x",
    "..%2Fx",
    "a/../../x",
    "/",
]


@pytest.fixture(autouse=True)
def without_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (interpreter, launch):
        monkeypatch.setattr(module, "can_confine", lambda: False)
    monkeypatch.chdir(tmp_path)


def outcomes(run: Path) -> list[str]:
    db = sqlite3.connect(run)
    rows = db.execute("SELECT replayed FROM calls ORDER BY id")
    found = ["sent" if replayed else "withheld" for (replayed,) in rows]
    db.close()
    return found


@pytest.mark.parametrize("path", OUTSIDE)
def test_it_is_withheld_and_the_others_are_sent(
    fleet_file: Callable[..., Path], results_file: Callable[..., Path], tmp_path: Path, path: str
) -> None:
    fleet_file(s={"script": "hangs_in_call.py", "effects": "sandboxed", "state": "trajectory"})
    results_file(t=[[("s/echo", {"text": path}, "recorded")], [("s/echo", {"text": "inside/x"}, "recorded")]])
    done = replay_here("classify", "tiny_test_mcp_fuzzy.json")
    assert done.returncode == 0, done.stderr
    assert "outside its sandbox" in done.stderr
    assert outcomes(tmp_path / "replay-run.db") == ["withheld", "sent"]


def test_who_allows_the_servers_effects_allows_that_too(
    fleet_file: Callable[..., Path], results_file: Callable[..., Path], tmp_path: Path
) -> None:
    fleet_file(s={"script": "hangs_in_call.py", "effects": "sandboxed", "state": "trajectory"})
    results_file(t=[[("s/echo", {"text": "/anywhere/x"}, "recorded")]])
    done = replay_here("classify", "tiny_test_mcp_fuzzy.json", "--allow-effects", "s")
    assert "outside its sandbox" not in done.stderr
    assert outcomes(tmp_path / "replay-run.db") == ["sent"]
