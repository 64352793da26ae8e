"""Dask's scheduler and workers on this machine, kept by a thread: they start while the command does something else."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from anyio.from_thread import start_blocking_portal

from replay.cluster.place import ClusterError, Place
from replay.cluster.quiet_dask import configured, first_line

if TYPE_CHECKING:
    from distributed import LocalCluster

_PRELOADED: Final = "replay.cluster.worker"


@contextmanager
def workers_started(place: Place | None) -> Iterator[Place | None]:
    """Have the workers of this machine start while the block goes on; they end with it at the latest.

    Args:
        place: where the workers are; nothing happens where that is not this machine.

    Raises:
        MissingExtraError: Dask is not installed.
    """
    if place is None or not place.is_local:
        yield place
        return
    with configured(place), KeptCluster(place) as cluster:
        yield replace(place, kept=cluster)


class KeptCluster:
    """A scheduler and its workers, which nobody else on this machine can reach. Begins to start at once.

    Args:
        place: how many of them.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._ready: Future[LocalCluster] = Future()
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._portal.call(_block_interrupts)
        self._over = self._portal.call(asyncio.Event)
        self._kept = self._portal.start_task_soon(self._keep)

    def __enter__(self) -> KeptCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def ready(self) -> LocalCluster:
        """The cluster, when it has started.

        Raises:
            ClusterError: it could not be started.
        """
        ready = asyncio.wrap_future(self._ready)
        ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # where nobody waits any more
        try:
            return await asyncio.shield(ready)
        except (OSError, TimeoutError, RuntimeError) as problem:
            raise ClusterError(f"the workers could not be started: {first_line(problem)}") from None

    def start_missing(self) -> None:
        """Start workers in the place of those whose keeper could not."""
        cluster: Any = self._ready.result()
        self._portal.start_task_soon(self._scale, cluster)

    def close(self) -> None:
        """End it, also while it starts; nothing where it has ended."""
        if not self._kept.done():
            self._portal.call(self._over.set)
            if not self._ready.done():
                self._kept.cancel()
            with suppress(BaseException):  # whoever waited for the cluster was told
                self._kept.result()
        self._stack.close()

    async def _scale(self, cluster: Any) -> None:
        cluster.scale(self._place.workers)

    async def _keep(self) -> None:
        with TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            try:
                async with _local(self._place, directory) as cluster:
                    self._ready.set_result(cluster)
                    await self._over.wait()
            except BaseException as problem:
                if not self._ready.done():
                    self._ready.set_exception(problem)
                raise


def _block_interrupts() -> None:
    """Keep ^C from the processes that this thread starts: they end in order, and not while they import."""
    resource_tracker.ensure_running()  # where it is started, it lets them through again
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _local(place: Place, directory: str) -> Any:
    from distributed import LocalCluster

    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=place.workers,
        threads_per_worker=place.threads,
        processes=True,
        asynchronous=True,
        host="127.0.0.1",
        dashboard_address=None,
        security=True,  # on a machine with other users nobody but our own processes gets in
        local_directory=directory,
        preload=[_PRELOADED],
        silence_logs=logging.CRITICAL,
    )
