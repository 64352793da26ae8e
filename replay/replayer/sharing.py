"""Opens the workers of a run wherever they are, also for verbs that are not asynchronous: `align`, `convert`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

from anyio.from_thread import start_blocking_portal

from replay.replayer.pool import Job, Pool, WorkerLocation

DoAll = Callable[[Iterable[Job]], None]
"""Has the workers do jobs, and returns when all are done."""


@asynccontextmanager
async def open_pool(location: WorkerLocation, note: Callable[[str], None]) -> AsyncIterator[Pool]:
    """The workers of a location, when the first of them is there; those of this machine end with the block.

    Args:
        location: where they are.
        note: told what a person should know.

    Raises:
        MissingExtraError: there is a scheduler, and Dask is not installed.
        ClusterError: the scheduler or the workers cannot be used.
    """
    if location.is_local:
        from replay.replayer.worker_processes import processes_started as opened
    else:
        from replay.replayer.dask_workers import connected as opened
    async with opened(location, note) as pool:
        yield pool


@contextmanager
def workers_at(location: WorkerLocation, note: Callable[[str], None]) -> Iterator[DoAll]:
    """The workers of a location, for code that is not asynchronous."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_pool(location, note)) as pool:
        yield lambda jobs: portal.call(pool.do, iter(jobs))
