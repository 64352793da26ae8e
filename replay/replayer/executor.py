"""Who replays trajectories and reads files to judge them: this process; `workers` has the one for other processes."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import anyio
from anyio import lowlevel

from replay.errors import FormatError, ReplayError
from replay.formats.results_file import ResultsFile, looking_through
from replay.interpreter import Fleet, Interpreter, ServerEvent
from replay.interpreter.processes import spare_descriptors
from replay.records import FleetFacts, Server, Trajectory
from replay.replayer.backends import AnswerBackend, LiveBackend, StoredBackend
from replay.replayer.journal import Checkpoint, RunCheckpoint
from replay.replayer.plan import Judging, Options, Piece, Progress, Source, readable
from replay.replayer.trajectory import replay_trials
from replay.runfile.effects_journal import Origin
from replay.safety.redaction import redacting

_DESCRIPTORS_OF_JOB = 6
_DESCRIPTORS_OF_SERVER = 16
"""Pipes, process handle and log of a server, and the pipe on which its start reports."""


class Here:
    """This process.

    Args:
        interpreter: started; None where no server is asked.
        backend: of its answers.
    """

    def __init__(self, interpreter: Interpreter | None = None, backend: AnswerBackend | None = None) -> None:
        self._interpreter, self.backend = interpreter, backend or StoredBackend({}, FleetFacts())

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers that were started, as they are by now."""
        return self._interpreter.servers if self._interpreter else {}

    @property
    def tools_complete(self) -> Callable[[str], bool] | None:
        """Whether the list of a server's tools is whole, as far as it has said by now."""
        return self._interpreter.tools_complete if self._interpreter else None

    async def replay(self, judging: Judging, pieces: Iterator[Piece]) -> None:
        """Replay trajectories side by side, as many as `--jobs` says and open files allow."""
        earlier = judging.run.journal().last()
        with redacting(judging.run.redactor):
            async with anyio.create_task_group() as jobs:
                for _ in range(affordable_jobs(judging.options, self.servers.values(), judging.progress)):
                    jobs.start_soon(replay_here, judging, pieces, earlier)

    async def judge(self, judging: Judging, sources: Iterable[Source]) -> None:
        """Read one file after the other, and judge each trajectory of it; a file is read once."""
        with interruptible_at_once(), redacting(judging.run.redactor):
            for source in sources:
                try:
                    file = await _opened(source)
                except FormatError as error:
                    judging.file_refused(source, error)
                    continue
                judging.file_opened(source, file.summary)
                trajectories = readable(file, judging.options, judging.progress)
                await replay_here(judging, (Piece(file.path, file.format, each) for each in trajectories), 0)


@contextmanager
def interruptible_at_once() -> Iterator[None]:
    """Let ^C end the current task wherever it is: a long trajectory is judged for minutes without a pause.

    The handler of `asyncio.run` cancels the main task, which is heard of when the current one waits, and not before.
    """
    cancel_main, task = signal.getsignal(signal.SIGINT), asyncio.current_task()
    if not isinstance(cancel_main, partial) or threading.current_thread() is not threading.main_thread():
        yield  # somebody else takes the signals
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        cancel_main(number, frame)
        if asyncio.current_task() is task:
            raise asyncio.CancelledError

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, cancel_main)


async def _opened(source: Source) -> ResultsFile:
    """The file, looked through with a stop at each trajectory."""
    if isinstance(source, ResultsFile):
        return source
    steps = looking_through(*source)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            file: ResultsFile = end.value
            return file
        await lowlevel.checkpoint()


async def replay_here(judging: Judging, pieces: Iterator[Piece], earlier: int) -> None:
    """Replay trajectories one after the other, and keep their verdicts.

    Args:
        judging: what they are judged by.
        pieces: the trajectories, and what the run knows of each; others may take from them too.
        earlier: the journal's last entry when these files began to be judged.
    """
    context, options, progress = judging.context, judging.options, judging.progress
    for piece in pieces:
        try:
            trajectory = context.as_named_here(piece.trajectory)
            checkpoint = _checkpoint_of(judging, piece, trajectory, earlier)
            replayed, results = await replay_trials(trajectory, context, options, checkpoint, progress.count)
            progress.not_repeated += len(checkpoint.not_repeated)
            judging.keep(piece, replayed, results, checkpoint.saved)
        except Exception as problem:
            if ends_the_run(problem):
                raise
            judging.give_up(piece, problem)
        await lowlevel.checkpoint()  # a run of recorded answers waits for nothing, and its progress is to be shown


def _checkpoint_of(judging: Judging, piece: Piece, trajectory: Trajectory, earlier: int) -> Checkpoint:
    """What survives a crash of a trajectory's replay: nothing, where it is judged by stored answers."""
    if piece.state is None:
        return Checkpoint()
    origin, inputs = Origin.of(piece.file, trajectory), judging.context.input_calls
    return RunCheckpoint(judging.run, piece.state, trajectory, origin=origin, inputs=inputs, earlier=earlier)


def ends_the_run(problem: BaseException) -> bool:
    """Whether no other trajectory would fare better: the fleet file, a results file or the run file is at fault."""
    if isinstance(problem, BaseExceptionGroup):
        return any(map(ends_the_run, problem.exceptions))
    return isinstance(problem, ReplayError | sqlite3.Error)


@asynccontextmanager
async def servers_here(
    fleet: Fleet,
    facts: FleetFacts,
    names: Iterable[str],
    options: Options,
    *,
    logs: Path,
    progress: Progress,
    on_event: Callable[[ServerEvent], None] | None = None,
) -> AsyncIterator[Here]:
    """This process, with the servers of a fleet started in it; they end with the block.

    Args:
        fleet: the servers.
        facts: of the fleet.
        names: of the servers that are needed.
        options: as on the command line.
        logs: directory for the servers' stderr.
        progress: told which servers start, and what is odd about workspaces.
        on_event: told what happens to the servers.
    """

    def note(event: ServerEvent) -> None:
        if event.trajectory is None:
            progress.servers[event.server] = event
        if on_event is not None:
            on_event(event)

    async with Interpreter(fleet, names=names, logs=logs, on_event=note, instances=options.instances) as interpreter:
        await interpreter.start()
        async with LiveBackend(interpreter, facts, options.allow_effects) as backend:
            yield Here(interpreter, backend)
            progress.notes += [f"{trajectory}: {note}" for note, trajectory in backend.notes.items()]


def affordable_jobs(options: Options, servers: Iterable[Server], progress: Progress) -> int:
    """As many jobs as there may be open files: each trajectory has processes of its own."""
    own = sum(server.state == "trajectory" for server in servers)
    jobs = max(1, spare_descriptors() // (_DESCRIPTORS_OF_JOB + own * _DESCRIPTORS_OF_SERVER))
    if jobs >= options.jobs:
        return max(1, options.jobs)
    progress.notes.append(
        f"{jobs} trajectories at a time instead of {options.jobs}: more files may not be open at once"
    )
    return jobs
