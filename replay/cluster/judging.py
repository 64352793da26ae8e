"""The jobs of a classification: trajectories go out with a lease, and come back as rows of the run file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from replay.cluster import worker as on_worker
from replay.cluster.desk import Desk
from replay.cluster.messages import FromFile, Lease, Sent, Unit, UnitFailure, UnitResult
from replay.cluster.pool import Job
from replay.errors import InputError
from replay.formats import ResultsFile
from replay.records import CallResult, Trajectory
from replay.records.effects import EffectKey
from replay.replayer import ReplayContext, servers_named
from replay.replayer.journal import keys_of
from replay.replayer.judging import Judging as RunJudging
from replay.replayer.plan import Options, Progress
from replay.replayer.plan import Piece as PlannedPiece
from replay.runfile import Run, TrajectoryState
from replay.runfile.effects_journal import Origin, absolute_path
from replay.runfile.shipped_rows import reserve_rows, write_shipped_rows

CALLS_A_UNIT: Final = 200
"""Calls that are judged in one task where no server is asked: a task costs milliseconds."""
MAX_ATTEMPTS: Final = 3
"""How often a trajectory is given out before it is given up."""


@dataclass
class Judging:
    """What the jobs of a run share."""

    run: Run
    context: ReplayContext
    options: Options
    progress: Progress
    desk: Desk
    name: str
    """Of the run, as the workers know it."""
    by_path: bool
    """Whether the workers see the files that the command sees."""
    journal_asked: bool
    """Whether earlier runs sent calls with effects."""
    lacking: dict[str, frozenset[str]] = field(default_factory=dict)
    """By worker, the servers that it could not start and another one could."""

    def note_lacking(self, worker: str, servers: Iterable[str]) -> None:
        """A worker could not start some servers."""
        elsewhere = frozenset(servers) - self.context.registry.unavailable.keys()
        if elsewhere:
            self.lacking[worker] = elsewhere

    def unsuited(self, trajectory: Trajectory) -> frozenset[str]:
        """The workers that lack a server which a trajectory names."""
        context = self.context
        named = servers_named(context.as_named_here(trajectory), context.registry.server_names)
        return frozenset(worker for worker, servers in self.lacking.items() if servers & named)

    def sent_before(self, file: str, trajectory: Trajectory, *, again: bool) -> dict[EffectKey, Sent]:
        """The calls with effects of a trajectory that were sent before."""
        if self.options.offline or not (again or self.journal_asked):
            return {}
        named = self.context.as_named_here(trajectory)
        journal, origin = self.run.journal(), Origin.of(file, trajectory)
        found = {
            key: journal.find(origin, key, self.context.input_calls.still_holds)
            for key in keys_of(named.calls(), self.context.registry).values()
        }
        return {key: Sent(sent.answer, sent.stderr) for key, sent in found.items() if sent is not None}


@dataclass
class Piece:
    """A trajectory on its way."""

    file: ResultsFile
    number: int
    """Among those of the file."""
    calls: int
    row: int
    trajectory: Trajectory | None = None
    """None where the worker reads it itself."""
    results: dict[str, CallResult] = field(default_factory=dict)
    """Calls that an earlier run finished."""
    attempt: int = 0
    failed_on: set[str] = field(default_factory=set)
    """Workers that could not judge it."""

    def read(self) -> Trajectory:
        """The trajectory, read here."""
        if self.trajectory is None:
            self.trajectory = next(islice(self.file.trajectories(), self.number, None))
        return self.trajectory


class JudgeJob:
    """Trajectories that one task judges."""

    def __init__(self, judging: Judging, pieces: Sequence[Piece]) -> None:
        self._judging, self._pieces = judging, pieces

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The unit, its leases given out anew."""
        work = tuple(self._work())
        return on_worker.judge, (Unit(self._judging.name, work, tuple(map(self._lease, self._pieces))),)

    def not_for(self) -> Collection[str]:
        """The workers that could not judge it, or not start a server which the trajectories name."""
        found = {worker for piece in self._pieces for worker in piece.failed_on}
        if self._judging.lacking:
            found.update(*(self._judging.unsuited(piece.read()) for piece in self._pieces))
        return found

    def done(self, result: UnitResult | UnitFailure) -> Sequence[Job]:
        """Write what was judged into the run, unless another worker can start servers that this one could not."""
        if isinstance(result, UnitFailure):
            return self._failed(result)
        judging, progress = self._judging, self._judging.progress
        for judged in result.judged:
            for key, sent in judged.answers:
                judging.desk.keep_answer(judged.row, key, sent)
        judging.note_lacking(result.worker, result.lacking)
        if result.worker in self.not_for() and all(piece.attempt < MAX_ATTEMPTS for piece in self._pieces):
            return self._again()
        progress.not_repeated += sum(judged.not_repeated for judged in result.judged)
        write_shipped_rows(judging.run, ((judged.row, judged.rows) for judged in result.judged))
        for piece in self._pieces:
            missing = piece.calls - judging.desk.counted(piece.row)
            progress.done += missing
            progress.by_worker[result.worker] = progress.by_worker.get(result.worker, 0) + missing
            judging.desk.take_back(piece.row)
        return ()

    def failed(self, problem: Exception) -> Sequence[Job]:
        """Every worker that had the task was lost, or the task could not even begin."""
        last = getattr(getattr(problem, "last_worker", None), "name", None)
        if last is None:
            return self._failed(UnitFailure("", "fault", f"{type(problem).__name__}: {problem}"[:500]))
        return self._failed(UnitFailure(str(last), "fault", "the workers that had it were lost: out of memory?"))

    def _failed(self, failure: UnitFailure) -> Sequence[Job]:
        judging = self._judging
        if failure.kind == "file":
            raise InputError("", failure.message)
        if failure.kind == "not-here":
            judging.by_path = False
            return [self]
        self._again()
        if failure.kind == "fault":
            for piece in self._pieces:
                piece.failed_on.add(failure.worker)
        if len(self._pieces) > 1:
            return [JudgeJob(judging, [piece]) for piece in self._pieces]
        (piece,) = self._pieces
        if failure.kind == "lease-lost" or piece.attempt < MAX_ATTEMPTS:
            return [self]
        problem = RuntimeError(f"on the worker {failure.worker}: {failure.message}")
        planned = PlannedPiece(piece.file.path, "", piece.read(), TrajectoryState(piece.row, False, {}))
        RunJudging(judging.run, judging.context, judging.options, judging.progress).give_up(planned, problem)
        judging.progress.done += piece.calls
        judging.desk.take_back(piece.row)
        return ()

    def _again(self) -> Sequence[Job]:
        progress = self._judging.progress
        progress.done -= sum(self._judging.desk.counted(piece.row) for piece in self._pieces)
        progress.given_again += len(self._pieces)
        return [self]

    def _work(self) -> Iterator[FromFile | Trajectory]:
        """The trajectories, those that stand together in a file as one."""
        run: list[Piece] = []
        for piece in self._pieces:
            if piece.trajectory is not None or not self._judging.by_path:
                yield from _from_file(run)
                yield piece.read()
                run = []
            elif run and (run[-1].file is not piece.file or run[-1].number + 1 != piece.number):
                yield from _from_file(run)
                run = [piece]
            else:
                run = [*run, piece]
        yield from _from_file(run)

    def _lease(self, piece: Piece) -> Lease:
        piece.attempt += 1
        judging, path = self._judging, piece.file.path
        if judging.options.offline:
            return Lease(piece.row, piece.attempt)
        trajectory = piece.read()
        sent = judging.sent_before(path, trajectory, again=piece.attempt > 1)
        judging.desk.give_out(piece.row, piece.attempt, Origin.of(path, trajectory))
        return Lease(piece.row, piece.attempt, piece.results, sent)


def _from_file(pieces: Sequence[Piece]) -> Iterator[FromFile]:
    if pieces:
        file = pieces[0].file
        yield FromFile(absolute_path(file.path), file.how_to_read, pieces[0].number, len(pieces))


def live_jobs(judging: Judging, to_do: Iterable[PlannedPiece], files: Iterable[ResultsFile]) -> Iterator[JudgeJob]:
    """A job for each trajectory that is not done."""
    by_path = {file.path: file for file in files}
    for path, _, trajectory, state in to_do:
        if state is None:
            continue
        file = by_path[path]
        calls = sum(len(step.calls) for step in trajectory.steps)
        yield JudgeJob(judging, [Piece(file, 0, calls, state.row, trajectory, dict(state.results))])


def stored_jobs(judging: Judging, files: Iterable[ResultsFile]) -> Iterator[JudgeJob]:
    """Jobs of some hundred calls each, over all trajectories of the files."""
    pieces: list[Piece] = []
    calls = 0
    for file in files:
        here = islice(file.trajectories(), judging.options.limit)
        counts = islice(file.call_counts, judging.options.limit)
        for number, (identifier, count) in enumerate(zip(file.ids, counts, strict=False)):
            (row,) = reserve_rows(judging.run, file.path, file.model, file.format, [(identifier, count)])
            trajectory = None if judging.by_path and file.is_on_disk else next(here)
            pieces.append(Piece(file, number, count, row, trajectory))
            calls += count
            if calls >= CALLS_A_UNIT:
                yield JudgeJob(judging, pieces)
                pieces, calls = [], 0
    if pieces:
        yield JudgeJob(judging, pieces)
