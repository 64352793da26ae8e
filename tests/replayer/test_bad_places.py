"""A scheduler that cannot be used is named, with the reason; no process is started for these tests."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from replay.replayer.dask_workers import PACKAGE
from replay.replayer.pool import ClusterError, WorkerLocation
from replay.replayer.worker_processes import open_pool

distributed = pytest.importorskip("distributed")

pytestmark = [
    # Dask's sockets are closed when they are collected
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def refused(handlers: dict[str, Callable[..., Any]]) -> str:
    """What is said of a scheduler that answers so."""

    async def connect() -> str:
        async with distributed.Scheduler(host="127.0.0.1", port=0, dashboard_address=":0") as scheduler:
            scheduler.handlers.update(handlers)
            with pytest.raises(ClusterError) as caught:
                async with open_pool(WorkerLocation(None, scheduler.address), print):
                    pass
            return str(caught.value).replace(scheduler.address, "ADDRESS")

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return anyio.run(connect)


def running(**packages: str | None) -> Callable[..., Any]:
    """What `versions` says where other packages are installed."""

    def versions(**_: Any) -> Any:
        found = distributed.versions.get_versions([PACKAGE])
        found["packages"].update({name.replace("_", "-"): version for name, version in packages.items()})
        return found

    return versions


OURS = distributed.versions.get_versions([PACKAGE])["packages"]


@pytest.mark.parametrize(
    ("handlers", "said"),
    [
        (
            {"versions": running(distributed="2024.1.0", mcp_replay=None)},
            f"it has distributed 2024.1.0, and the command {OURS['distributed']}",
        ),
        ({"versions": running(mcp_replay=None)}, f"it has not mcp-replay {OURS[PACKAGE]}: install it there"),
        ({"versions": running(mcp_replay="9.9")}, f"it has mcp-replay 9.9, and the command {OURS[PACKAGE]}"),
        ({"identity": lambda **_: {"type": "Worker"}}, "it is the address of a Worker"),
    ],
)
def test_a_scheduler_that_runs_something_else_is_refused_and_told_why(
    handlers: dict[str, Callable[..., Any]], said: str
) -> None:
    assert refused(handlers) == f"the scheduler at ADDRESS is not used: {said}"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tls://127.0.0.1:1", "nothing", "http://127.0.0.1:1"])
def test_a_scheduler_that_is_not_there_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect() -> None:
        async with open_pool(WorkerLocation(None, address), print):
            pass

    monkeypatch.setattr("replay.replayer.dask_workers.CONNECT_WITHIN", 0.2)
    with pytest.raises(ClusterError, match=f"the scheduler at {address} cannot be used"):
        anyio.run(connect)
