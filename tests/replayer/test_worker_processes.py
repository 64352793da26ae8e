"""Worker processes: what is planted beside them is not imported, what is lost is replaced, and none is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from replay.replayer.pool import ClusterError, Job, Pool, WorkerLocation
from replay.replayer.worker_processes import open_pool

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]


def jobs(taken: list[Any], count: int) -> list[Job]:
    return [Job(os.getpid, (), taken.append) for _ in range(count)]


def test_what_is_planted_in_the_current_directory_is_not_imported(
    replay: Replay, results_file: Write, tmp_path: Path
) -> None:
    results = results_file(run=[[("files/read", {"path": "x"}, "text")]])
    for name in ("multiprocessing", "concurrent", "pickle", "anyio", "socket", "signal"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'a').write(__name__)\n")
    (tmp_path / "replay").mkdir()
    (tmp_path / "replay" / "__init__.py").write_text("open('imported', 'a').write(__name__)\n")
    done = replay("classify", results, "--offline", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()


def test_jobs_are_done_by_processes_of_their_own_which_are_gone_afterwards() -> None:
    taken: list[int] = []

    async def work() -> None:
        async with open_pool(WorkerLocation(2), print) as pool:
            await pool.do(jobs(taken, 8))

    anyio.run(work)
    assert len(taken) == 8
    assert os.getpid() not in taken
    assert not [pid for pid in set(taken) if psutil.pid_exists(pid)]


def test_a_worker_that_is_lost_is_replaced_and_its_job_given_to_another() -> None:
    notes: list[str] = []
    taken: list[int] = []

    async def work() -> None:
        async with open_pool(WorkerLocation(1), notes.append) as pool:
            await pool.do(jobs(taken, 1))
            psutil.Process(taken[0]).kill()
            await pool.do(jobs(taken, 1))

    anyio.run(work)
    assert notes == ["the worker 0 is gone; its work is given to another"]
    assert taken[0] != taken[1]


def test_a_job_that_kills_its_workers_ends_the_command() -> None:
    async def work() -> None:
        async with open_pool(WorkerLocation(1), lambda note: None) as pool:
            await pool.do([Job(os.kill, (0, 9), print) for _ in range(1)])

    with pytest.raises(ClusterError, match="a worker could not do its part: WorkerLostError"):
        anyio.run(work)


def test_workers_that_end_as_soon_as_they_start_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.replayer.worker_processes._BEGIN", "raise SystemExit(3)")

    async def work() -> None:
        async with open_pool(WorkerLocation(2), lambda note: None) as pool:
            await pool.do(jobs([], 4))

    with pytest.raises(ClusterError, match=r"end as soon as they are started|could not do its part"):
        anyio.run(work)


def test_what_a_worker_cannot_do_is_raised_in_the_command() -> None:
    async def work() -> None:
        async with open_pool(WorkerLocation(1), print) as pool:
            assert isinstance(pool, Pool)
            await pool.do([Job(int, ("x",), print)])

    with pytest.raises(ClusterError, match="ValueError: invalid literal"):
        anyio.run(work)
