"""What the environment kept from its verdict is tried again when the run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.runfile import Run, call_rows
from tests.conftest import SERVERS

Replay = Callable[..., subprocess.CompletedProcess[str]]


def verdicts(path: Path) -> dict[str, str]:
    with Run.read(path) as run:
        return {row.call: row.reason or row.outcome for row in call_rows(run)}


@pytest.fixture
def limited(tmp_path: Path, fleet_file: Callable[..., Path], results_file: Callable[..., Path]) -> Path:
    """A fleet with a server that is rate limited, and results of three calls to it; gives the server's log."""
    log, limit = tmp_path / "log", tmp_path / "limit"
    limit.touch()
    fleet_file(api={"script": "limited.py", "effects": "all", "env": {"LOG": str(log), "LIMIT": str(limit)}})
    calls = [
        [("api/free", {"n": "1"})],
        [("api/look", {"n": "2"})],
        [("api/put", {"n": "3"})],
        [("api/free", {"n": "4"})],
    ]
    results_file(t=calls)
    return log


def test_a_call_that_met_a_rate_limit_is_tried_again_by_the_same_command(
    tmp_path: Path, replay: Replay, limited: Path
) -> None:
    command = ("classify", "tiny_test_mcp_fuzzy.json")
    assert replay(*command).returncode == 0
    run = tmp_path / "replay-run.db"
    assert verdicts(run) == {"s1c1": "success", "s2c1": "rate-limited", "s3c1": "rate-limited", "s4c1": "success"}
    (tmp_path / "limit").unlink()
    limited.unlink()
    done = replay(*command)
    assert verdicts(run) == {"s1c1": "success", "s2c1": "success", "s3c1": "rate-limited", "s4c1": "success"}
    assert limited.read_text().splitlines() == ["look 2", "free 4"], (
        "what came before stands; `put` is never sent twice"
    )
    assert "1 call without a verdict from before: tried again" in done.stderr
    assert replay(*command).returncode == 0
    assert limited.read_text().splitlines() == ["look 2", "free 4"]


def test_inconclusive_calls_are_left_where_that_is_asked_for(tmp_path: Path, replay: Replay, limited: Path) -> None:
    assert replay("classify", "tiny_test_mcp_fuzzy.json").returncode == 0
    limited.unlink()
    done = replay("classify", "tiny_test_mcp_fuzzy.json", "--keep-inconclusive")
    assert "4 of 4 calls had their verdict from before" in done.stderr
    assert not limited.exists()


def test_a_server_that_is_there_at_last_gives_its_verdicts_to_the_same_command(
    tmp_path: Path, replay: Replay, results_file: Callable[..., Path]
) -> None:
    program = tmp_path / "late-server"
    python = {"command": sys.executable, "args": [str(SERVERS / "todo.py")], "effects": "sandboxed"}
    late: dict[str, Any] = {"command": str(program), "effects": "sandboxed", "state": "trajectory"}
    (tmp_path / "servers.yaml").write_text(json.dumps({"version": 1, "servers": {"here": python, "late": late}}))
    results = results_file(
        a=[[("here/add", {"title": "x", "due": "y"})], [("late/add", {"title": "x", "due": "y"})]],
        b=[[("here/done", {"id": "7"})]],
    )
    assert replay("classify", results).returncode == 0
    run = tmp_path / "replay-run.db"
    assert list(verdicts(run).values()).count("server-unavailable") == 1
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVERS / 'todo.py'}\n")
    program.chmod(0o755)
    done = replay("classify", results)
    assert "server-unavailable" not in verdicts(run).values()
    assert "1 of 3 calls had their verdict from before" in done.stderr
