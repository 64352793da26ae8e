"""Workers of this machine start while the command does something else, and end whatever becomes of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

from replay.cluster import ClusterError, Place
from replay.cluster.local_cluster import KeptCluster, workers_started

pytest.importorskip("distributed")

Started = list[str]


def kept(monkeypatch: pytest.MonkeyPatch, local: Callable[[], AbstractAsyncContextManager[object]]) -> None:
    monkeypatch.setattr("replay.cluster.local_cluster._local", lambda place, directory: local())


def test_the_cluster_is_ready_when_it_is_asked_for_and_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    said: Started = []
    begun = threading.Event()

    @asynccontextmanager
    async def local() -> AsyncIterator[str]:
        said.append(f"blocked {signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())}")
        begun.set()
        yield "cluster"
        said.append("ended")

    kept(monkeypatch, local)
    with workers_started(Place(2)) as place:
        assert begun.wait(10)  # nobody has asked for it yet
        assert place is not None
        assert place == Place(2)
        assert place.kept is not None
        ready: Any = anyio.run(place.kept.ready)
        assert ready == "cluster"
    assert said == ["blocked True", "ended"]
    place.kept.close()  # once more does no harm


def test_a_cluster_that_still_starts_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    said: Started = []
    begun = threading.Event()

    @asynccontextmanager
    async def local() -> AsyncIterator[str]:
        begun.set()
        try:
            await anyio.sleep_forever()
            yield "never"
        finally:
            said.append("ended")

    def interrupted() -> None:
        with workers_started(Place(2)):
            assert begun.wait(10)
            raise KeyboardInterrupt

    kept(monkeypatch, local)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert said == ["ended"]


def test_a_cluster_that_cannot_be_started_is_told_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def local() -> AsyncIterator[str]:
        raise OSError("Too many open files")
        yield "never"

    kept(monkeypatch, local)
    with (
        KeptCluster(Place(2)) as cluster,
        pytest.raises(ClusterError, match=r"the workers could not be started: Too many open files"),
    ):
        anyio.run(cluster.ready)


def test_workers_of_a_scheduler_are_not_started() -> None:
    place = Place(scheduler="tcp://127.0.0.1:1")
    with workers_started(place) as same:
        assert same is place
