"""What the command does with what comes back from workers, and with what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from replay.cluster.classify import servers_of
from replay.cluster.desk import Desk
from replay.cluster.judging import MAX_ATTEMPTS, JudgeJob, Judging, stored_jobs
from replay.cluster.messages import FromFile, Settings, Unit, UnitFailure, UnitResult, WorkerReport
from replay.cluster.pool import Job
from replay.errors import ReplayError
from replay.formats import ResultsFile, open_file
from replay.outcomes import Registry
from replay.records import FleetFacts, Server, Trajectory
from replay.replayer import InputCalls, ReplayContext, StoredBackend
from replay.replayer.plan import Options, Progress
from replay.runfile import Run

Write = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.open(tmp_path / "run.db") as opened:
        yield opened


@pytest.fixture
def file(results_file: Write) -> ResultsFile:
    return open_file(results_file(**{f"t{number}": [[("files/read", {"path": "x"}, "text")]] for number in range(3)}))


def judging_of(run: Run, registry: Registry | None = None) -> Judging:
    registry, facts, options = registry or Registry(), FleetFacts(), Options(offline=True)
    context = ReplayContext(StoredBackend({}, facts), registry, {}, (), "", InputCalls({}, registry))
    settings = Settings(options, facts, (), "", (), {}, registry)
    desk = Desk(run, settings, stored=run.stored_answer, on_calls=lambda worker, calls: None)
    return Judging(run, context, options, Progress(), desk, "run", by_path=True, journal_asked=False)


def unit_of(job: Job) -> Unit:
    (unit,) = job.task()[1]
    assert isinstance(unit, Unit)
    return unit


def failing(jobs: Sequence[Job], failure: UnitFailure) -> int:
    """Fail every job until none is left; gives how many tasks that took."""
    tasks, waiting = 0, list(jobs)
    while waiting:
        job = waiting.pop()
        job.task()
        tasks += 1
        waiting += job.done(failure)
    return tasks


def test_the_trajectories_of_a_file_go_out_together_to_be_read_by_the_worker(run: Run, file: ResultsFile) -> None:
    (job,) = stored_jobs(judging_of(run), [file])
    (part,) = unit_of(job).work
    assert isinstance(part, FromFile)
    assert (part.first, part.count) == (0, 3)


def test_a_worker_that_does_not_see_the_file_gets_its_content(run: Run, file: ResultsFile) -> None:
    (job,) = stored_jobs(judging_of(run), [file])
    job.task()
    (again,) = job.done(UnitFailure("far", "not-here", "no such file"))
    assert [part.id for part in unit_of(again).work if isinstance(part, Trajectory)] == ["t0", "t1", "t2"]


def test_what_no_worker_can_judge_is_inconclusive_and_the_last_worker_is_named(run: Run, file: ResultsFile) -> None:
    judging = judging_of(run)
    tasks = failing([*stored_jobs(judging, [file])], UnitFailure("far", "fault", "OSError: No space left on device"))
    assert tasks == 1 + 3 * (MAX_ATTEMPTS - 1)
    rows = run.connection.execute("SELECT outcome, reason, message FROM calls").fetchall()
    assert len(rows) == 3
    assert {row[:2] for row in rows} == {("inconclusive", "replay-fault")}
    assert all("on the worker far: OSError: No space left on device" in message for *_, message in rows)


def test_what_failed_on_a_worker_is_given_to_another(run: Run, file: ResultsFile) -> None:
    (job,) = stored_jobs(judging_of(run), [file])
    job.task()
    again = job.done(UnitFailure("full", "fault", "OSError: No space left on device"))
    assert [one.not_for() for one in again] == [{"full"}] * 3


def test_a_task_whose_workers_all_died_names_the_last_of_them(run: Run, file: ResultsFile) -> None:
    class Worker:
        name = "hungry"

    class KilledWorker(Exception):  # noqa: N818 - as Dask calls it
        last_worker = Worker()

    judging = judging_of(run)
    waiting: list[Any] = [*stored_jobs(judging, [file])]
    while waiting:
        job = waiting.pop()
        job.task()
        waiting += job.failed(KilledWorker())
    assert all("hungry" in note and "out of memory?" in note for note in judging.progress.notes)
    assert len(judging.progress.notes) == 3


def test_what_names_a_server_that_one_worker_cannot_start_is_given_to_another(run: Run, file: ResultsFile) -> None:
    judging = judging_of(run, registry=Registry(server_names=("files", "other")))
    (job,) = stored_jobs(judging, [file])
    job.task()
    assert job.done(UnitResult("lacking", (), 3, lacking=("other",))) == ()
    assert job.not_for() == set()
    assert job.done(UnitResult("lacking", (), 3, lacking=("files",))) == [job]
    assert (job.not_for(), judging.progress.given_again) == ({"lacking"}, 3)
    for _ in range(MAX_ATTEMPTS - 1):  # the others are gone
        job.task()
    assert job.done(UnitResult("lacking", (), 3, lacking=("files",))) == ()


def test_a_server_that_no_worker_can_start_keeps_nothing_from_any(run: Run, file: ResultsFile) -> None:
    judging = judging_of(run, registry=Registry(server_names=("files",), unavailable={"files": "no such command"}))
    (job,) = stored_jobs(judging, [file])
    job.task()
    assert job.done(UnitResult("lacking", (), 3, lacking=("files",))) == ()


def test_a_file_that_changed_ends_the_run(run: Run, file: ResultsFile) -> None:
    (job,) = stored_jobs(judging_of(run), [file])
    assert isinstance(job, JudgeJob)
    with pytest.raises(ReplayError, match="the file changed"):
        job.done(UnitFailure("far", "file", "the file changed"))


def test_a_server_that_one_worker_cannot_start_is_kept_from_another_and_noted() -> None:
    progress = Progress()
    lacking = Server(name="excel", error="no such command: uvx (on the worker b)")
    there = Server(name="excel", digest="d")
    servers = servers_of([WorkerReport("b", (lacking,)), WorkerReport("a", (there,))], progress)
    assert servers == {"excel": there}
    assert servers_of([WorkerReport("c", (lacking,))], progress, servers) == {"excel": there}
    assert progress.notes == ["excel: could not be started: no such command: uvx (on the worker b)"]
