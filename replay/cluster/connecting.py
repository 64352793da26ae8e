"""Opening a Dask cluster: local processes that nobody else can reach, or a scheduler that is there."""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from replay.cluster.acceptance import PACKAGE, refusal
from replay.cluster.place import ClusterError, Place
from replay.errors import MissingExtraError
from replay.extras import install_command

if TYPE_CHECKING:
    from distributed import Client

CONNECT_WITHIN: Final = 15.0
"""Seconds for a scheduler to answer."""
_PRELOADED: Final = "replay.cluster.worker"
_SETTINGS: Final = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.scheduler.dashboard.status.task-stream-length": 1,
    "distributed.admin.log-length": 100,
    "distributed.admin.low-level-log-length": 10,
    "distributed.worker.profile.enabled": False,
}
"""No pages are served, and no history is kept of what went through the scheduler."""
_LOCAL_SETTINGS: Final = {
    "distributed.comm.timeouts.connect": "120s",
    "distributed.deploy.lost-worker-timeout": "60s",
}
"""On a machine with much to do it takes long until a process is there; one that is late is not killed for it."""


@asynccontextmanager
async def connected(place: Place) -> AsyncIterator[Client]:
    """A client of the cluster; local workers end with it.

    Raises:
        MissingExtraError: Dask is not installed.
        ClusterError: the scheduler does not answer, or speaks otherwise.
    """
    try:
        import dask
        import distributed
    except ImportError:
        raise MissingExtraError(install_command("cluster"), "--workers and --cluster") from None
    async with AsyncExitStack() as stack:
        stack.enter_context(_quiet())
        timeouts = _LOCAL_SETTINGS if place.is_local else {"distributed.comm.timeouts.connect": f"{CONNECT_WITHIN:g}s"}
        stack.enter_context(dask.config.set({**_SETTINGS, **timeouts}))
        target: Any = place.scheduler
        if place.is_local:
            directory = stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
            try:
                target = await stack.enter_async_context(_local(place, directory))
            except (OSError, TimeoutError, RuntimeError) as problem:
                raise ClusterError(f"the workers could not be started: {_first_line(problem)}") from None
        patience = 120.0 if place.is_local else CONNECT_WITHIN
        try:
            if place.scheduler is not None:
                await _check(place.scheduler)
            client = await stack.enter_async_context(
                distributed.Client(target, asynchronous=True, timeout=patience)  # type: ignore[no-untyped-call]
            )
        except (OSError, TimeoutError, ValueError, TypeError, AssertionError, ImportError, RuntimeError) as problem:
            raise ClusterError(
                f"the scheduler at {place.scheduler} cannot be used: {_first_line(problem)}. "
                f"Is it there, and does it run distributed {version('distributed')}?"
            ) from None
        yield client


async def _check(scheduler: str) -> None:
    """See whether a scheduler runs what the command runs: it unpickles what passes through it.

    Raises:
        ClusterError: it runs something else.
    """
    from distributed.core import rpc
    from distributed.security import Security
    from distributed.versions import get_versions

    arguments = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with rpc(scheduler, connection_args=arguments) as asked:  # type: ignore[no-untyped-call]
        theirs = await asyncio.wait_for(asked.versions(packages=[PACKAGE]), CONNECT_WITHIN)
        why = refusal(theirs, get_versions([PACKAGE]))
        if why is None:
            kind = (await asyncio.wait_for(asked.identity(), CONNECT_WITHIN)).get("type")
            why = None if kind == "Scheduler" else f"is the address of a {kind}"
    if why is not None:
        raise ClusterError(f"the scheduler at {scheduler} is not used: it {why}")


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


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own log and warnings: what goes wrong is told by the command, in its own words."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application", "asyncio")]
    levels = [logger.level for logger in loggers]
    before = os.environ.get("DASK_LOGGING__DISTRIBUTED")
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if before is None:
            os.environ.pop("DASK_LOGGING__DISTRIBUTED", None)
        else:
            os.environ["DASK_LOGGING__DISTRIBUTED"] = before


def _first_line(problem: BaseException) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
