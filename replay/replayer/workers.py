"""The executor that workers are: trajectories go out with a lease, files by their path; rows of the run come back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from replay.errors import FormatError, ReplayError
from replay.formats import look_through
from replay.formats.results_file import FileSummary, ResultsFile, UnopenedFile
from replay.interpreter import Fleet
from replay.records import Answer, FleetFacts, Server, Trajectory
from replay.replayer import worker as on_worker
from replay.replayer.backends import AnswerBackend, StoredBackend
from replay.replayer.journal import keys_of
from replay.replayer.judging import Judging, Source
from replay.replayer.messages import (
    FilePart,
    Finder,
    JudgedRows,
    Lease,
    LeaseLostError,
    NotHereError,
    Replayed,
    Settings,
    WorkerReport,
    sendable,
)
from replay.replayer.plan import Options, Piece, Progress, rules_of
from replay.replayer.pool import MAX_ATTEMPTS, Job, Pool, WorkerLostError
from replay.replayer.recorded_servers import servers_named
from replay.replayer.worker_requests import WorkerRequests
from replay.runfile import Run, TrajectoryState
from replay.runfile.effects_journal import EffectKey, Origin, SentCall, absolute_path
from replay.runfile.shipped_rows import drop_reserved_rows, reserve_rows, write_shipped_rows

_BYTES_A_PART: Final = 4_000_000
"""Of a large file, which several workers read: each judges a part of its trajectories."""


class OnWorkers:
    """Replays on the workers of a pool. Made by `servers_on_workers`, and by who has nothing but files to judge.

    Args:
        pool: of workers.
        settings: of the run; those for files are made when they are judged.
        fleet: whose secrets are taken out; may be None.
        answers: where stored answers come from, by key; by default the run.
        finder: makes what finds what trajectories show.
    """

    def __init__(
        self,
        pool: Pool,
        fleet: Fleet | None,
        *,
        answers: Callable[[str], Answer | None] | None = None,
        finder: Callable[[Run], Finder] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._pool, self._fleet, self._answers, self._finder = pool, fleet, answers, finder
        self._settings = settings
        self.backend: AnswerBackend = StoredBackend({}, settings.facts if settings else FleetFacts())
        self.servers: dict[str, Server] = {}
        self.tools_complete = None
        self._reports: list[WorkerReport] = []

    async def start(self, run: Run, progress: Progress) -> None:
        """Start the servers of the fleet on every worker."""
        if self._settings is None:
            raise ValueError("there is no fleet whose servers could be started")
        # the workers ask for the settings before the servers are known
        self._pool.handle = WorkerRequests(run, self._settings, stored=run.stored_answer).handle
        self._reports = await self._pool.on_each(on_worker.start, self._pool.run)
        self.take(self._reports, progress)

    async def stop(self, progress: Progress) -> None:
        """End the servers; their last words are kept."""
        reports = await self._pool.on_each(on_worker.stop, self._pool.run)
        self.take([report for report in reports if report is not None], progress)

    def take(self, reports: Iterable[WorkerReport], progress: Progress) -> None:
        """Take each server as the first worker has it that could start it; what a worker could not start is noted."""
        for report in sorted(reports, key=lambda report: report.worker):
            for server in report.servers:
                if server.name not in self.servers or self.servers[server.name].error is not None:
                    self.servers[server.name] = server
            notes = [
                f"{server.name}: could not be started: {server.error}"
                for server in report.servers
                if server.error is not None
            ]
            progress.notes += [note for note in (*notes, *report.notes) if note not in progress.notes]

    async def replay(self, judging: Judging, pieces: Iterator[Piece]) -> None:
        """Replay trajectories on the servers that the workers started."""
        if self._settings is None:
            raise ValueError("there is no fleet whose calls could be sent")
        requests = WorkerRequests(
            judging.run, self._settings, stored=judging.run.stored_answer, on_calls=judging.progress.count_of_worker
        )
        self._pool.handle = requests.handle
        shared = Shared(judging, requests, self._pool.run, judging.run.journal().last() > 0)
        for report in self._reports:
            shared.note_lacking(report.worker, (server.name for server in report.servers if server.error is not None))
        await self._pool.do(ReplayJob(shared, piece) for piece in pieces)

    async def judge(self, judging: Judging, sources: Iterable[Source]) -> None:
        """Have the workers read files and judge them."""
        run, context = judging.run, judging.context
        settings = Settings(
            options=for_workers(judging.options),
            facts=run.facts() or FleetFacts(),
            dispatchers=context.dispatchers,
            policy=context.policy,
            secrets=self._fleet.secrets() if self._fleet else (),
            rules=context.rules,
            registry=context.registry,
            stored_answers=self._answers is not None or run.has_answers(),
            finder=self._finder,
        )
        workers = max(1, sum(worker.threads for worker in self._pool.workers.values()))
        first = run.next_file_row()
        files = [
            FileOnWorkers(judging, _unopened(source), source, first + number) for number, source in enumerate(sources)
        ]
        by_path = {file.source.file.path: file for file in files}
        in_order = iter(files)
        turn = next(in_order, None)

        def take(judged: JudgedRows) -> None:
            """Write files in their order, each from when those before it were looked through."""
            nonlocal turn
            file = by_path[judged.summary.path]
            file.take(judged)
            if file.opened:
                file.write()
            while turn is not None and (turn.refused or turn.summary is not None):
                turn.write()
                turn = next(in_order, None)

        requests = WorkerRequests(
            run,
            settings,
            stored=self._answers or run.stored_answer,
            on_rows=take,
        )
        self._pool.handle = requests.handle
        try:
            await self._pool.do(job for file in files for job in file.jobs(self._pool.run, workers, take))
        finally:
            for file in files:
                file.write()
            drop_reserved_rows(run)


def for_workers(options: Options) -> Options:
    """What of the options a worker must know."""
    return replace(options, on_done=None)


def _unopened(source: Source) -> UnopenedFile:
    return source.source if isinstance(source, ResultsFile) else source


@asynccontextmanager
async def servers_on_workers(  # noqa: PLR0913
    pool: Pool,
    run: Run,
    fleet: Fleet,
    facts: FleetFacts,
    names: Iterable[str],
    options: Options,
    policy: str,
    *,
    logs: Path,
    progress: Progress,
    finder: Callable[[Run], Finder] | None = None,
) -> AsyncIterator[OnWorkers]:
    """The workers of a pool, with the servers of a fleet started on each; they end with the block.

    Args:
        pool: of workers.
        run: open for writing.
        fleet: the servers.
        facts: of the fleet.
        names: of the servers that are needed.
        options: as on the command line.
        policy: digest of what is judged under.
        logs: directory for the servers' stderr, where the workers share the disk.
        progress: told what happens.
        finder: makes what finds what trajectories show.
    """
    settings = Settings(
        options=for_workers(options),
        facts=facts,
        dispatchers=fleet.dispatchers,
        policy=policy,
        secrets=fleet.secrets(),
        rules=rules_of(fleet, options),
        fleet={**fleet.model_dump(), "path": fleet.directory / fleet.path.name},
        names=tuple(names),
        logs=absolute_path(str(logs)) if pool.location.is_local else None,
        finder=finder,
    )
    executor = OnWorkers(pool, fleet, finder=finder, settings=settings)
    servers, workers = len(settings.names), len(pool.workers)
    progress.stage = (
        f"starting {servers} {'server' if servers == 1 else 'servers'} on "
        f"{workers} {'worker' if workers == 1 else 'workers'}"
    )
    await executor.start(run, progress)
    progress.stage = None
    yield executor
    await executor.stop(progress)


# --- trajectories whose calls are sent


@dataclass
class Shared:
    """What the jobs of a run share."""

    judging: Judging
    requests: WorkerRequests
    run: str
    """As the workers know it."""
    journal_asked: bool
    """Whether earlier runs sent calls with effects."""
    lacking: dict[str, frozenset[str]] = field(default_factory=dict)
    """By worker, the servers that it could not start and another one could."""

    def note_lacking(self, worker: str, servers: Iterable[str]) -> None:
        """A worker could not start some servers."""
        elsewhere = frozenset(servers) - self.judging.context.registry.unavailable.keys()
        if elsewhere:
            self.lacking[worker] = elsewhere

    def unsuited(self, trajectory: Trajectory) -> frozenset[str]:
        """The workers that lack a server which a trajectory names."""
        if not self.lacking:
            return frozenset()
        context = self.judging.context
        named = servers_named(context.as_named_here(trajectory), context.registry.server_names)
        return frozenset(worker for worker, servers in self.lacking.items() if servers & named)

    def sent_before(self, piece: Piece, *, again: bool) -> dict[EffectKey, SentCall]:
        """The calls with effects of a trajectory that were sent before."""
        if not (again or self.journal_asked):
            return {}
        unplaced = self.judging.context.input_calls.unplaced
        context, journal = self.judging.context, self.judging.run.journal()
        named, origin = context.as_named_here(piece.trajectory), Origin.of(piece.file, piece.trajectory)
        found = {
            key: journal.find(origin, key, context.input_calls.still_holds)
            for key in keys_of(named.calls(), context.registry).values()
        }
        sent_before = {key: sent for key, sent in found.items() if sent is not None}
        return {key: SentCall(is_placed=False) for key in found if key in unplaced} | sent_before


class ReplayJob(Job):
    """A trajectory that a worker replays."""

    def __init__(self, shared: Shared, piece: Piece) -> None:
        super().__init__(on_worker.replay_trajectory, ())
        self._shared, self._piece = shared, piece
        self._state = piece.state or TrajectoryState(0, False, {})
        self._calls = sum(len(step.calls) for step in piece.trajectory.steps)

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The trajectory, with a new lease."""
        shared, piece, row = self._shared, self._piece, self._state.row
        sent = shared.sent_before(piece, again=self.attempts > 0)
        lease = Lease(row, self.attempts + 1, dict(self._state.results), sent)
        shared.requests.give_out(row, lease.attempt, Origin.of(piece.file, piece.trajectory))
        self._arguments = (shared.run, piece.trajectory, lease)
        return super().task()

    def not_for(self) -> Collection[str]:
        """The workers that could not judge it, or not start a server which it names."""
        return self.failed_on | self._shared.unsuited(self._piece.trajectory)

    def done(self, worker: str, result: Replayed) -> bool:
        """Write what was judged into the run, unless another worker can start servers that this one could not."""
        for key, sent in result.answers:
            self._shared.requests.keep_answer(self._state.row, key, sent)
        self._shared.note_lacking(worker, result.lacking)
        if worker in self.not_for() and self.attempts < MAX_ATTEMPTS:
            return self._count_again()
        shared, row = self._shared, self._state.row
        shared.judging.progress.not_repeated += result.not_repeated
        write_shipped_rows(shared.judging.run, [(row, result.rows)])
        shared.judging.progress.count_of_worker(worker, self._calls - shared.requests.counted(row))
        shared.requests.take_back(row)
        return False

    def failed(self, worker: str, problem: Exception) -> bool:
        """Give it to another worker, or up."""
        lost_lease = isinstance(problem, LeaseLostError)
        if not lost_lease:
            self.failed_on.add(worker)
        if lost_lease or self.attempts < MAX_ATTEMPTS:
            return self._count_again()
        judging = self._shared.judging
        judging.progress.done += self._calls - self._shared.requests.counted(self._state.row)
        judging.give_up(self._piece, RuntimeError(f"on the worker {worker}: {_in_words(problem)}"))
        self._shared.requests.take_back(self._state.row)
        return False

    def _count_again(self) -> bool:
        progress = self._shared.judging.progress
        progress.done -= self._shared.requests.counted(self._state.row)
        progress.given_again += 1
        return True


def _in_words(problem: Exception) -> str:
    return str(problem) if isinstance(problem, WorkerLostError) else f"{type(problem).__name__}: {problem}"[:500]


# --- files that are read and judged in one go


@dataclass
class FileOnWorkers:
    """A file that workers judge.

    Its rows are reserved when the first worker has looked it through: it stands in the run in its place, whoever is
    first.
    """

    judging: Judging
    source: UnopenedFile
    named: Source
    number: int
    """Of the file in the run, where the run does not hold it."""
    summary: FileSummary | None = None
    rows: list[int] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    """Numbers of its trajectories that stand in the run."""
    waiting: list[JudgedRows] = field(default_factory=list)
    """What was judged of it and is not written, since a file before it was not looked through."""
    opened: bool = False
    """Whether it stands in the run."""
    refused: bool = False

    def jobs(self, run: str, workers: int, take: Callable[[JudgedRows], None]) -> Iterator[FileJob]:
        """As many as may read it side by side; `take` gets what is judged of it."""
        try:
            self.source = sendable(self.source)
            size = self.source.file.size()
        except FormatError as error:
            self.refuse(error)
            return
        parts = min(workers, 1 + size // _BYTES_A_PART)
        for part in range(parts):
            yield FileJob(self, run, FilePart(self.source, size, part, parts), take)

    def take(self, judged: JudgedRows) -> None:
        """Take what was judged of it."""
        self.summary = judged.summary
        self.waiting.append(judged._replace(rows=tuple(row for row in judged.rows if row[0] not in self.done)))
        self.done.update(number for number, _ in judged.rows)

    def write(self) -> None:
        """Write what was taken of it."""
        judging, waiting, self.waiting = self.judging, self.waiting, []
        if not self.opened and self.summary is not None:
            self.opened, summary = True, self.summary
            judging.file_opened(self.named, summary, self.number)
            wanted = list(islice(zip(summary.ids, summary.call_counts, strict=True), self.count))
            self.rows = reserve_rows(judging.run, summary.path, summary.model, summary.format, wanted)
        for judged in waiting:
            write_shipped_rows(judging.run, [(self.rows[number], rows) for number, rows in judged.rows])
            calls = sum(judged.summary.call_counts[number] for number, _ in judged.rows)
            judging.progress.count_of_worker(judged.worker, calls)

    @property
    def count(self) -> int:
        """How many of its trajectories are to be judged."""
        if self.summary is None:
            return 0
        limit = self.judging.options.limit
        return len(self.summary.ids) if limit is None else min(limit, len(self.summary.ids))

    def refuse(self, error: FormatError) -> None:
        """It cannot be read."""
        if not self.refused:
            self.refused = True
            self.judging.file_refused(self.named, error)

    def give_up_next(self, part: FilePart, problem: Exception) -> None:
        """Give up the trajectory of a part at which worker after worker was lost."""
        if self.summary is None:
            self.refuse(FormatError(self.source.file.path, f"could not be read: {problem}"))
            return
        missing = [number for number in range(part.part, self.count, part.parts) if number not in self.done]
        if missing:
            trajectory = next(islice(look_through(*self.source).trajectories(), missing[0], None))
            piece = Piece(self.summary.path, self.summary.format, trajectory)
            self.judging.give_up(piece, problem)
            self.done.add(missing[0])
            self.judging.progress.done += self.summary.call_counts[missing[0]]

    def is_done(self, part: FilePart) -> bool:
        """Whether nothing is left of a part."""
        return self.refused or (
            self.summary is not None and self.done.issuperset(range(part.part, self.count, part.parts))
        )


class FileJob(Job):
    """A file, or a part of it, that a worker judges."""

    def __init__(self, file: FileOnWorkers, run: str, part: FilePart, take: Callable[[JudgedRows], None]) -> None:
        super().__init__(on_worker.judge_file, (), take)
        self._file, self._run, self._part = file, run, part
        self._reached = 0

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The file; what is judged of it already is left out."""
        file, again = self._file, self.attempts > 0
        self._reached = len(file.done)
        part = replace(
            self._part, source=file.source, size=file.source.file.size(), done=frozenset(file.done), one_by_one=again
        )
        self._arguments = (self._run, part)
        return super().task()

    def failed(self, worker: str, problem: Exception) -> bool:
        """Send the bytes where the worker does not see the file; else give it to another worker, or up."""
        file = self._file
        if isinstance(problem, NotHereError) and file.source.file.place is not None:
            file.source = sendable(file.source, by_path=False)
            return True
        if isinstance(problem, FormatError):
            file.refuse(problem)
            return False
        if isinstance(problem, ReplayError) and not isinstance(problem, LeaseLostError | NotHereError):
            raise problem
        if len(file.done) > self._reached:  # the part that fails is another one
            self.attempts = 1
        self.failed_on.add(worker)
        file.judging.progress.given_again += 1
        if self.attempts >= MAX_ATTEMPTS:
            file.give_up_next(self._part, RuntimeError(f"on the worker {worker}: {_in_words(problem)}"))
            self.attempts = 1
        return not file.is_done(self._part)
