"""`replay import` on several processes or machines: the workers read and infer, the command writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from replay.cluster.messages import FromFile, UnitFailure
from replay.cluster.pool import Job, Pool
from replay.cluster.reading import NotHereError, Reading
from replay.dag import infer_edges
from replay.errors import InputError, ReplayError
from replay.formats import ResultsFile
from replay.records import Trajectory
from replay.records.files import TrajectoryFile
from replay.runfile.effects_journal import absolute_path
from replay.safety.filesystem import record_as_json

_READING: Final = Reading()
_A_JOB: Final = 16
"""Trajectories that one task turns into files."""

Text = tuple[str, str]
"""A trajectory's id, and its DAG file."""


def dag_file(trajectory: Trajectory) -> TrajectoryFile:
    """The DAG file of a trajectory, its data edges inferred where the source has none."""
    fields = {name: getattr(trajectory, name) for name in type(trajectory).model_fields}
    if fields["edges"] is None:
        fields["edges"] = infer_edges(trajectory)
    return TrajectoryFile(**fields)


def dag_files(work: tuple[FromFile | Trajectory, ...]) -> list[Text] | UnitFailure:
    """The task that a worker does."""
    try:
        return [(one.id, record_as_json(dag_file(one))) for one in _READING.trajectories(work)]
    except NotHereError as problem:
        return UnitFailure("", "not-here", str(problem))
    except ReplayError as problem:
        return UnitFailure("", "file", str(problem))


class _ImportJob:
    def __init__(self, file: ResultsFile, first: int, count: int, write: Callable[[ResultsFile, Text], None]) -> None:
        self._file, self._first, self._count, self._write = file, first, count, write
        self._by_path = file.is_on_disk

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        work: tuple[FromFile | Trajectory, ...]
        if self._by_path:
            path = absolute_path(self._file.path)
            work = (FromFile(path, self._file.how_to_read, self._first, self._count),)
        else:
            work = tuple(
                one for number, one in enumerate(self._file.trajectories()) if 0 <= number - self._first < self._count
            )
        return dag_files, (work,)

    def not_for(self) -> Collection[str]:
        return ()

    def done(self, result: list[Text] | UnitFailure) -> Sequence[Job]:
        if not isinstance(result, UnitFailure):
            for text in result:
                self._write(self._file, text)
            return ()
        if result.kind == "not-here" and self._by_path:
            self._by_path = False
            return [self]
        raise InputError("", result.message)

    def failed(self, problem: Exception) -> Sequence[Job]:
        raise InputError(self._file.path, f"could not be turned into DAG files on a worker: {problem}") from problem


async def import_on_workers(
    pool: Pool, files: Iterable[ResultsFile], write: Callable[[ResultsFile, Text], None]
) -> None:
    """Turn every trajectory into a DAG file.

    Args:
        pool: of workers.
        files: that were looked through.
        write: gets each file's trajectories, in no certain order.
    """
    await pool.do(_jobs(files, write))


def _jobs(files: Iterable[ResultsFile], write: Callable[[ResultsFile, Text], None]) -> Iterator[_ImportJob]:
    for file in files:
        for first in range(0, len(file.ids), _A_JOB):
            yield _ImportJob(file, first, min(_A_JOB, len(file.ids) - first), write)
