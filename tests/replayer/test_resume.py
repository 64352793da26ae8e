from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Replay = Callable[..., subprocess.CompletedProcess[str]]
CALLS_A_TRAJECTORY = 5


def start(directory: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "replay", *map(str, arguments)],
        cwd=directory,
        env={**os.environ, "CI": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process was still there to be killed."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def verdicts(run: Path) -> dict[tuple[str, str], tuple[Any, ...]]:
    if not run.exists():
        return {}
    try:
        connection = sqlite3.connect(f"{run.as_uri()}?mode=ro", uri=True)
        rows = connection.execute(
            "SELECT t.name, c.position, c.outcome, c.reason, c.rule, c.message, c.replayed "
            "FROM calls c JOIN trajectories t ON t.id = c.trajectory"
        ).fetchall()
    except sqlite3.OperationalError:
        return {}
    return {(name, position): tuple(rest) for name, position, *rest in rows}


def logged(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def trajectories(server: str, tool: str, count: int) -> dict[str, Any]:
    return {
        f"{server}-{number}": [
            [(f"{server}/{tool}", {"n": f"{server}-{number}.{call}"})] for call in range(CALLS_A_TRAJECTORY)
        ]
        for number in range(count)
    }


def entry(name: str, position: str) -> str:
    return f"{name}.{int(position[1:].partition('c')[0]) - 1}"


@pytest.mark.slow
def test_a_run_that_is_killed_ten_times_ends_as_one_that_was_not(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    log = tmp_path / "log"
    environment = {"LOGBOOK": str(log), "PAUSE": "0.02"}
    fleet = fleet_file(
        shared={"script": "logbook.py", "env": environment},
        own={"script": "logbook.py", "env": environment, "state": "trajectory", "effects": "sandboxed"},
    )
    results = results_file(**trajectories("shared", "look", 60), **trajectories("own", "put", 40))
    whole = tmp_path / "whole.db"
    assert replay("classify", results, "--servers", fleet, "--run", whole).returncode == 0
    log.unlink()

    run, kills, moments = tmp_path / "killed.db", 0, random.Random(7)
    for _ in range(10):
        before, sent = verdicts(run), logged(log)
        process = start(tmp_path, "classify", results, "--servers", fleet, "--run", run, "--jobs", "2")
        kills += kill_after(process, moments.uniform(0.3, 1.6))
        again = logged(log) - sent
        for name, position in before:
            assert not any(line.endswith(f" {entry(name, position)}") for line in again), (name, position)
    assert kills > 0
    assert replay("classify", results, "--servers", fleet, "--run", run).returncode == 0
    assert verdicts(run) == verdicts(whole)


@pytest.mark.slow
def test_a_call_with_effects_in_shared_state_is_never_sent_twice(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    log, run = tmp_path / "log", tmp_path / "run.db"
    fleet = fleet_file(shared={"script": "logbook.py", "env": {"LOGBOOK": str(log), "PAUSE": "0.2"}, "effects": "all"})
    results = results_file(**trajectories("shared", "put", 12))
    for _ in range(4):
        seen = logged(log).total()
        process = start(tmp_path, "classify", results, "--servers", fleet, "--run", run, "--jobs", "2")
        while process.poll() is None and logged(log).total() < seen + 5:
            os.sched_yield()
        process.kill()
        process.wait()
    assert replay("classify", results, "--servers", fleet, "--run", run).returncode == 0
    found = verdicts(run)
    assert len(found) == 12 * CALLS_A_TRAJECTORY
    assert max(logged(log).values()) == 1
    unknown = {key for key, (outcome, reason, *_) in found.items() if reason == "interrupted"}
    assert unknown
    assert all(found[key][0] == "inconclusive" for key in unknown)
    answered = {f"put {entry(*key)}" for key in found.keys() - unknown}
    assert answered <= logged(log).keys()


def test_a_finished_run_is_not_done_again(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    log = tmp_path / "log"
    fleet = fleet_file(shared={"script": "logbook.py", "env": {"LOGBOOK": str(log)}})
    results = results_file(**trajectories("shared", "look", 2))
    first = replay("classify", results, "--servers", fleet, "--json")
    second = replay("classify", results, "--servers", fleet, "--json")
    assert json.loads(first.stdout) == json.loads(second.stdout)
    assert "10 of 10 calls had their verdict from before" in second.stderr
    assert set(logged(log).values()) == {1}
    more = results_file(**trajectories("shared", "look", 3))
    replay("classify", more, "--servers", fleet)
    assert logged(log).total() == 15
    replay("classify", more, "--servers", fleet, "--fresh")
    assert logged(log).total() == 30


def test_two_processes_do_not_write_one_run(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    from replay.runfile import Run

    results = results_file(**trajectories("shared", "look", 1))
    with Run.open(tmp_path / "replay-run.db"):
        second = replay("classify", results, "--offline")
    assert second.returncode == 2
    assert "another replay is writing this run" in second.stderr
