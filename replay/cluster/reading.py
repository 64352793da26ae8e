"""A worker reads the trajectories that it was told of from the files themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from replay.cluster.messages import FromFile
from replay.errors import ReplayError
from replay.formats import single_input
from replay.records import Trajectory


class NotHereError(ReplayError):
    """The file is not on this worker's disk, or is another one there."""


class Reading:
    """Reads on in a file where the last unit ended, since units of one file come in its order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path = ""
        self._reached = 0
        self._open: Iterator[Trajectory] = iter(())

    def trajectories(self, work: Iterable[FromFile | Trajectory]) -> Iterator[Trajectory]:
        """The trajectories of a unit.

        Raises:
            NotHereError: this worker does not see the file that the command looked through.
        """
        for part in work:
            if isinstance(part, Trajectory):
                yield part
            else:
                yield from self._read(part)

    def _read(self, part: FromFile) -> list[Trajectory]:
        with self._lock:
            if self._path != part.path or self._reached > part.first:
                self._path, self._reached, self._open = part.path, 0, _opened(part)
            for _ in islice(self._open, part.first - self._reached):
                pass
            found = list(islice(self._open, part.count))
            self._reached = part.first + part.count
            return found


def _opened(work: FromFile) -> Iterator[Trajectory]:
    try:
        file = replace(single_input(work.path), path=work.how.path)
        size = file.size()
    except ReplayError as problem:
        raise NotHereError(str(problem)) from None
    if size != work.how.size:
        raise NotHereError(f"{work.path} has {size} bytes here, and {work.how.size} where the command runs")
    return work.how.trajectories(file)
