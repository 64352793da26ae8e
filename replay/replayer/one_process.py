"""The trajectories of a run, replayed side by side in this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable

import anyio

from replay.errors import ReplayError
from replay.formats import ResultsFile
from replay.records import CallResult, Trajectory
from replay.replayer import ReplayContext, replay_trials
from replay.replayer.options import Options, Progress
from replay.replayer.to_do import unfinished
from replay.replayer.verdicts import fault_in_words, verdict_of_replay_fault
from replay.runfile import Run, TrajectoryState
from replay.runfile.checkpoint import RunCheckpoint, TrialCheckpoint
from replay.runfile.effects_journal import Origin
from replay.safety.redaction import redacting

_FLUSH_EVERY = 0.05
"""Seconds that a verdict may wait to be written; what a call with effects got stands in the journal at once."""

ReplayAll = Callable[[Run, list[ResultsFile], ReplayContext, Options, Progress], Awaitable[None]]
"""Replays the unfinished trajectories of files and keeps their verdicts in the run."""


async def replay_here(
    run: Run, files: list[ResultsFile], context: ReplayContext, options: Options, progress: Progress
) -> None:
    """Replay the trajectories, so many side by side as `options.jobs` says."""
    to_do = unfinished(run, files, context.policy, options, progress, soon=True)
    earlier = run.journal().last()

    async def worker() -> None:
        with redacting(run.redactor):
            for file, trajectory, state in to_do:
                try:
                    await _replay_one(run, file, trajectory, state, context, options, progress, earlier)
                except Exception as problem:
                    if _ends_the_run(problem):
                        raise
                    give_up(run, trajectory, state, progress, problem)

    async with anyio.create_task_group() as group:
        group.start_soon(_flush_often, run)
        async with anyio.create_task_group() as workers:
            for _ in range(max(1, options.jobs)):
                workers.start_soon(worker)
        group.cancel_scope.cancel()


def _ends_the_run(problem: BaseException) -> bool:
    """Whether no other trajectory would fare better: the fleet file, a results file or the run file is at fault."""
    if isinstance(problem, BaseExceptionGroup):
        return any(map(_ends_the_run, problem.exceptions))
    return isinstance(problem, ReplayError | sqlite3.Error)


def give_up(run: Run, trajectory: Trajectory, state: TrajectoryState, progress: Progress, problem: Exception) -> None:
    """Note what went wrong with a trajectory, and make each of its calls inconclusive."""
    progress.notes.append(f"{trajectory.id}: could not be replayed: {fault_in_words(problem)}")
    verdict = verdict_of_replay_fault(problem)
    try:
        run.finish(state.row, trajectory, (CallResult(call, verdict) for call in trajectory.calls()))
    except (ValueError, TypeError, RecursionError) as worse:
        progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(worse)}")


async def _flush_often(run: Run) -> None:
    while True:
        await anyio.sleep(_FLUSH_EVERY)
        run.flush()


async def _replay_one(
    run: Run,
    file: ResultsFile,
    trajectory: Trajectory,
    state: TrajectoryState,
    context: ReplayContext,
    options: Options,
    progress: Progress,
    earlier: int,
) -> None:
    trajectory = context.as_named_here(trajectory)
    ordinals = {call.position: ordinal for ordinal, call in enumerate(trajectory.calls())}
    checkpoint = RunCheckpoint(
        run,
        state,
        ordinals,
        origin=Origin.of(file.path, trajectory),
        still_holds=context.input_calls.still_holds,
        stored=options.offline,
        earlier=earlier,
    )
    trajectory, results = await replay_trials(
        trajectory, context, options.manner, (checkpoint, TrialCheckpoint(checkpoint)), progress_counter(progress)
    )
    progress.not_repeated += len(checkpoint.not_repeated)
    run.finish(state.row, trajectory, results, saved=checkpoint.saved)
    if options.on_done is not None:
        _tell(options.on_done, state.row, trajectory, progress)


def _tell(on_done: Callable[[int], None], row: int, trajectory: Trajectory, progress: Progress) -> None:
    """What fails there takes no verdict back."""
    try:
        on_done(row)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        progress.notes.append(f"{trajectory.id}: its findings could not be kept: {fault_in_words(problem)}")


def progress_counter(progress: Progress) -> Callable[[], None]:
    """Counts one call more."""

    def count() -> None:
        progress.done += 1

    return count
