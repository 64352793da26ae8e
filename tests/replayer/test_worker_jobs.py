"""What the command does with what comes back from workers, and with what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from replay.errors import FormatError
from replay.formats import open_file
from replay.formats.results_file import ResultsFile, UnopenedFile
from replay.outcomes import Registry
from replay.records import FleetFacts, Server
from replay.replayer import InputCalls, ReplayContext, StoredBackend
from replay.replayer.messages import (
    FilePart,
    JudgedRows,
    NotHereError,
    Replayed,
    Settings,
    WorkerReport,
    WorkerRequests,
)
from replay.replayer.plan import Judging, Options, Progress, unfinished
from replay.replayer.pool import MAX_ATTEMPTS, Job, Pool, WorkerLocation, WorkerLostError
from replay.replayer.workers import FileJob, FileOnWorkers, OnWorkers, ReplayJob, Shared
from replay.runfile import Run
from replay.runfile.shipped_rows import ShippedRows

Write = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.open(tmp_path / "run.db") as opened:
        yield opened


@pytest.fixture
def file(results_file: Write) -> ResultsFile:
    return open_file(results_file(**{f"t{number}": [[("files/read", {"path": "x"}, "text")]] for number in range(3)}))


def judging_of(run: Run, registry: Registry | None = None) -> Judging:
    registry = registry or Registry()
    context = ReplayContext(StoredBackend({}, FleetFacts()), registry, {}, (), "", InputCalls({}, registry))
    return Judging(run, context, Options(), Progress())


def file_jobs(judging: Judging, file: ResultsFile) -> tuple[FileOnWorkers, list[FileJob]]:
    on_workers = FileOnWorkers(judging, file.source, file, 1)
    return on_workers, list(on_workers.jobs("run", 2, on_workers.take))


def part_of(job: Job) -> FilePart:
    _, (_, part) = job.task()
    assert isinstance(part, FilePart)
    return part


def shared_of(judging: Judging) -> Shared:
    settings = Settings(judging.options, FleetFacts(), (), "", (), {})
    return Shared(judging, WorkerRequests(judging.run, settings, stored=judging.run.stored_answer), "run", False)


def replay_job(judging: Judging, file: ResultsFile) -> ReplayJob:
    piece = next(unfinished(judging.run, [file], "", judging.options, judging.progress))
    return ReplayJob(shared_of(judging), piece)


def failing(jobs: Sequence[Job], worker: str, problem: Exception) -> int:
    """Fail every job until none is left; gives how many tasks that took."""
    tasks, waiting = 0, list(jobs)
    while waiting:
        job = waiting.pop()
        job.task()
        tasks += 1
        waiting += [job] * job.failed(worker, problem)
    return tasks


def verdicts(run: Run) -> list[tuple[str, str, str]]:
    return run.connection.execute("SELECT outcome, reason, message FROM calls").fetchall()


def test_a_file_goes_out_by_its_path_and_a_worker_that_does_not_see_it_gets_its_bytes(
    run: Run, file: ResultsFile
) -> None:
    _, (job,) = file_jobs(judging_of(run), file)
    assert part_of(job).source.file.place == file.path
    assert job.failed("far", NotHereError("no such file"))
    sent = part_of(job).source
    assert isinstance(sent, UnopenedFile)
    assert sent.file.place is None
    with sent.file.open() as stream:
        assert stream.read() == Path(file.path).read_bytes()


def test_a_large_file_is_shared_out(run: Run, file: ResultsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.replayer.workers._BYTES_A_PART", 10)
    _, jobs = file_jobs(judging_of(run), file)
    assert [(part.part, part.parts) for part in map(part_of, jobs)] == [(0, 2), (1, 2)]


def test_the_trajectories_of_a_file_at_which_workers_die_are_inconclusive_and_the_last_worker_is_named(
    run: Run, file: ResultsFile
) -> None:
    judging = judging_of(run)
    on_workers, (job,) = file_jobs(judging, file)
    on_workers.take(JudgedRows("far", file.summary, ()))
    tasks = failing([job], "hungry", WorkerLostError("the worker is gone: out of memory?"))
    assert tasks == MAX_ATTEMPTS + 2 * (MAX_ATTEMPTS - 1)
    assert {row[:2] for row in verdicts(run)} == {("inconclusive", "replay-fault")}
    assert all("on the worker hungry: the worker is gone: out of memory?" in message for *_, message in verdicts(run))
    assert len(verdicts(run)) == len(judging.progress.notes) == 3


def test_a_file_that_no_worker_can_read_is_refused_and_the_last_worker_named(run: Run, file: ResultsFile) -> None:
    _, (job,) = file_jobs(judging_of(run), file)
    with pytest.raises(FormatError, match="could not be read: on the worker far: OSError: No space left"):
        failing([job], "far", OSError("No space left on device"))


def test_what_failed_on_a_worker_is_given_to_another(run: Run, file: ResultsFile) -> None:
    _, (job,) = file_jobs(judging_of(run), file)
    job.task()
    assert job.failed("full", OSError("No space left on device"))
    assert set(job.not_for()) == {"full"}


def test_a_broken_file_is_refused_and_not_given_to_another(run: Run, file: ResultsFile) -> None:
    _, (job,) = file_jobs(judging_of(run), file)
    job.task()
    with pytest.raises(FormatError, match="broken"):
        job.failed("far", FormatError(file.path, "broken"))


def test_a_trajectory_that_no_worker_can_replay_is_given_up(run: Run, file: ResultsFile) -> None:
    judging = judging_of(run)
    tasks = failing([replay_job(judging, file)], "far", OSError("No space left on device"))
    assert tasks == MAX_ATTEMPTS
    ((outcome, reason, message),) = verdicts(run)
    assert (outcome, reason) == ("inconclusive", "replay-fault")
    assert "on the worker far: OSError: No space left on device" in message


def replayed(lacking: tuple[str, ...]) -> Replayed:
    return Replayed(ShippedRows({}, {}, (), (), (), frozenset()), 0, (), lacking)


def test_what_names_a_server_that_one_worker_cannot_start_is_given_to_another(run: Run, file: ResultsFile) -> None:
    judging = judging_of(run, Registry(server_names=("files", "other")))
    job = replay_job(judging, file)
    job.task()
    assert job.done("lacking", replayed(("files",)))
    assert (set(job.not_for()), judging.progress.given_again) == ({"lacking"}, 1)


def test_a_server_that_no_worker_can_start_keeps_nothing_from_any(run: Run, file: ResultsFile) -> None:
    registry = Registry(server_names=("files",), unavailable={"files": "no such command"})
    job = replay_job(judging_of(run, registry), file)
    shared = vars(job)["_shared"]
    shared.note_lacking("lacking", ("files",))
    assert not job.not_for()


def test_a_server_that_one_worker_cannot_start_is_kept_from_another_and_noted() -> None:
    progress, executor = Progress(), OnWorkers(Pool(WorkerLocation(2), "run"), None)
    lacking = Server(name="excel", error="no such command: uvx (on the worker b)")
    there = Server(name="excel", digest="d")
    executor.take([WorkerReport("b", (lacking,)), WorkerReport("a", (there,))], progress)
    assert executor.servers == {"excel": there}
    executor.take([WorkerReport("c", (lacking,))], progress)
    assert executor.servers == {"excel": there}
    assert progress.notes == ["excel: could not be started: no such command: uvx (on the worker b)"]
