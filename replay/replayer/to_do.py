"""What of the files is still to be judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from replay.formats import ResultsFile
from replay.interpreter import Fleet
from replay.records import Trajectory
from replay.records.tool_name import with_calls, without_dispatcher
from replay.replayer import servers_named
from replay.replayer.options import Options, Progress
from replay.replayer.verdicts import fault_in_words
from replay.runfile import Run, TrajectoryState
from replay.runfile.file_contents import follow_files


def servers_to_start(
    run: Run, files: Iterable[ResultsFile], fleet: Fleet, options: Options, policy: str, progress: Progress
) -> list[str]:
    """The servers that unfinished trajectories name, in the order of the fleet file; counts what there is to do."""
    progress.notes += follow_files(run, files)
    names: set[str] = set()
    for file in files:
        progress.total += count_calls(file, options)
        for trajectory in _readable(file, options, progress):
            if not run.is_done(trajectory, file=file.path, policy=policy, retry=not options.keep_inconclusive):
                carried = with_calls(trajectory, partial(without_dispatcher, named=fleet.dispatchers))
                names |= servers_named(carried, fleet.servers)
    return [name for name in fleet.servers if name in names]


def unfinished(
    run: Run, files: list[ResultsFile], policy: str, options: Options, progress: Progress, *, soon: bool = False
) -> Iterator[tuple[ResultsFile, Trajectory, TrajectoryState]]:
    """What is still to be replayed, in the order of the files; each trajectory is begun in the run.

    With `soon`, that is committed with the next `Run.flush`.
    """
    for file in files:
        for trajectory in _readable(file, options, progress):
            retry = not (options.keep_inconclusive or options.offline)
            try:
                state = run.begin(trajectory, file=file.path, format=file.format, policy=policy, retry=retry, soon=soon)
            except (ValueError, TypeError, RecursionError) as problem:
                progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(problem)}")
                continue
            progress.retried += state.retried
            if state.done:
                count = sum(len(step.calls) for step in trajectory.steps)
                progress.done += count
                progress.kept += count
            else:
                yield file, trajectory, state


def _readable(file: ResultsFile, options: Options, progress: Progress) -> Iterator[Trajectory]:
    """The trajectories of a file, up to one that cannot be read although nobody expected it."""
    try:
        yield from islice(file.trajectories(), options.limit)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        note = f"{file.path}: could not be read to its end: {fault_in_words(problem)}"
        if note not in progress.notes:
            progress.notes.append(note)


def count_calls(file: ResultsFile, options: Options) -> int:
    """The calls of a file that are to be judged."""
    return sum(islice(file.call_counts, options.limit))
