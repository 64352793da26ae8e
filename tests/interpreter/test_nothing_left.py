"""What a run started ends with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from replay.interpreter import processes as processes_module

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strays are found in /proc")


def processes(pids: Path) -> list[psutil.Process]:
    """Those that still run of the ones that were written down."""
    found = []
    for line in pids.read_text().splitlines():
        try:
            process = psutil.Process(int(line.split()[0]))
        except psutil.NoSuchProcess:
            continue
        if process.status() != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def workspaces(pids: Path) -> set[Path]:
    return {Path(line.split(maxsplit=1)[1]) for line in pids.read_text().splitlines()}


@pytest.fixture
def fleet(fleet_file: Write, tmp_path: Path) -> Callable[[float], Path]:
    def write(pause: float) -> Path:
        environment = {"PIDS": str(tmp_path / "pids"), "PAUSE": str(pause)}
        return fleet_file(leaver={"script": "leaves_processes.py", "env": environment, "state": "trajectory"})

    return write


@pytest.fixture
def hangup_is_heard() -> Iterator[None]:
    """Also where the tests themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup_is_heard")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_a_signal_leaves_no_process_and_no_workspace(
    tmp_path: Path, fleet: Callable[[float], Path], results_file: Write, number: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    results = results_file(t=[[("leaver/wait", {})]])
    process = subprocess.Popen(
        [sys.executable, "-m", "replay", "classify", results, "--servers", fleet(600)],
        cwd=tmp_path,
        env={**os.environ, "CI": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not Path(f"{pids}.called").exists():
        assert process.poll() is None
        os.sched_yield()
    running = processes(pids)
    assert len(running) >= 2
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    expected = {signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}.get(number, 128 + number)
    assert process.returncode == expected, said
    _, alive = psutil.wait_procs(running, timeout=30)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]
    if number != signal.SIGKILL:
        assert "interrupted" in said
        assert not any(path.exists() for path in workspaces(pids))


def test_a_process_in_a_session_of_its_own_ends_with_the_run(
    tmp_path: Path, fleet: Callable[[float], Path], results_file: Write, replay: Replay
) -> None:
    results = results_file(t=[[("leaver/wait", {})]])
    assert replay("classify", results, "--servers", fleet(0)).returncode == 0
    assert len((tmp_path / "pids").read_text().splitlines()) == 4
    assert processes(tmp_path / "pids") == []


def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path, fleet: Callable[[float], Path], results_file: Write) -> None:
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "replay",
        "classify",
        results_file(t=[[("leaver/wait", {})]]),
        "--servers",
        fleet(2),
    ]
    process = subprocess.Popen(
        ["nohup", *command], cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while not (tmp_path / "pids.called").exists():
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(signal.SIGHUP)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said


def test_only_what_bears_a_mark_is_met_and_no_mark_meets_nothing() -> None:
    environments = {"first": "run.1.", "twelfth": "run.12.", "other": "other.1.", "inside": "x run.1."}
    started = {
        name: subprocess.Popen(["sleep", "60"], env={"A": "1", processes_module.STARTED_BY: mark, "B": "2"})
        for name, mark in environments.items()
    }
    try:
        pids = {process.pid: name for name, process in started.items()}

        def met(*marks: str) -> set[str]:
            return {pids[pid] for pid in processes_module.marked_processes(marks) if pid in pids}

        assert met("run.1.") == {"first"}
        assert met("run") == {"first", "twelfth"}
        assert met("run.12.", "other.") == {"twelfth", "other"}
        assert met() == set()
    finally:
        for process in started.values():
            process.kill()
            process.wait()
