"""Connecting to a Dask cluster: local processes that nobody else can reach, or a scheduler that is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from replay.cluster.acceptance import PACKAGE, refusal
from replay.cluster.local_cluster import KeptCluster
from replay.cluster.place import ClusterError, LocalWorkers, Place
from replay.cluster.quiet_dask import CONNECT_WITHIN, configured, first_line

if TYPE_CHECKING:
    from distributed import Client


@asynccontextmanager
async def connected(place: Place) -> AsyncIterator[tuple[Client, LocalWorkers | None]]:
    """A client of the cluster, and the cluster where its workers are of this machine; they end with it.

    Raises:
        MissingExtraError: Dask is not installed.
        ClusterError: the scheduler does not answer, or speaks otherwise.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(configured(place))
        import distributed

        address, patience, security = place.scheduler, CONNECT_WITHIN, None
        kept: LocalWorkers | None = None
        if place.is_local:
            kept = place.kept or KeptCluster(place)
            stack.push_async_callback(_close, kept)
            cluster: Any = await kept.ready()
            address, patience, security = cluster.scheduler_address, 120.0, cluster.security
        try:
            if place.scheduler is not None:
                await _check(place.scheduler)
            client = distributed.Client(  # type: ignore[no-untyped-call]
                address, asynchronous=True, timeout=patience, security=security
            )
            await stack.enter_async_context(client)
        except (OSError, TimeoutError, ValueError, TypeError, AssertionError, ImportError, RuntimeError) as problem:
            raise ClusterError(
                f"the scheduler at {place.scheduler} cannot be used: {first_line(problem)}. "
                f"Is it there, and does it run distributed {version('distributed')}?"
            ) from None
        yield client, kept


async def _close(kept: LocalWorkers) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(kept.close)


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
