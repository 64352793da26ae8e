"""Workers, opened wherever they are, and functions that they call for a verb: `align`, `import`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal

from replay.errors import ReplayError
from replay.replayer.pool import ClusterError, Job, Place, Pool, WorkerLostError

DoAll = Callable[[Iterable["CallJob"]], None]
"""Has the workers do jobs, and returns when all are done."""
_ATTEMPTS = 3


class CallJob:
    """A function that a worker calls, and who takes what it gives.

    Args:
        function: found by its name on the worker.
        arguments: of the function.
        take: gets what it gives.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], take: Callable[[Any], None]) -> None:
        self._function, self._arguments, self._take = function, arguments, take
        self._failed_on: list[str] = []

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and its arguments."""
        return self._function, self._arguments

    def not_for(self) -> Collection[str]:
        """The workers that were lost with it."""
        return self._failed_on

    def done(self, worker: str, result: Any) -> Sequence[Job]:
        """Hand the result over."""
        self._take(result)
        return ()

    def failed(self, worker: str, problem: Exception) -> Sequence[Job]:
        """Give it to another worker where this one was lost; else end the command: no other would fare better."""
        self._failed_on.append(worker)
        if isinstance(problem, WorkerLostError) and len(self._failed_on) < _ATTEMPTS:
            return [self]
        if isinstance(problem, ReplayError):
            raise problem
        raise ClusterError(f"a worker could not do its part: {type(problem).__name__}: {problem}") from problem


@asynccontextmanager
async def open_pool(place: Place, note: Callable[[str], None]) -> AsyncIterator[Pool]:
    """The workers of a place, when the first of them is there; those of this machine end with the block.

    Args:
        place: where they are.
        note: told what a person should know.

    Raises:
        MissingExtraError: there is a scheduler, and Dask is not installed.
        ClusterError: the scheduler or the workers cannot be used.
    """
    if place.is_local:
        from replay.replayer.worker_processes import processes_started as opened
    else:
        from replay.replayer.dask_workers import connected as opened
    async with opened(place, note) as pool:
        yield pool


@contextmanager
def workers_at(place: Place, note: Callable[[str], None]) -> Iterator[DoAll]:
    """The workers of a place, for code that is not asynchronous."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_pool(place, note)) as pool:
        yield lambda jobs: portal.call(pool.do, iter(jobs))
