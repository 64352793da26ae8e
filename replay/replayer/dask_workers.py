"""The workers of a Dask scheduler, on any machines: connected to, watched, and asked by tasks that stay where they are.

What a worker asks goes through the scheduler too, since nothing else need reach both. Nothing of Dask is imported
before `connected` is entered.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import secrets
import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from replay.errors import MissingExtraError, install_command
from replay.replayer import worker as on_worker
from replay.replayer.pool import KEPT, ClusterError, Pool, WorkerLocation, WorkerLostError

if TYPE_CHECKING:
    from distributed import Client

PACKAGE: Final = "mcp-replay"
_MUST_EQUAL: Final = ("distributed", PACKAGE, "cloudpickle")
"""Dask's first: one of old tells nothing of packages that it does not know."""
CONNECT_WITHIN: Final = 15.0
"""Seconds for a scheduler to answer."""
_LOOK_EVERY: Final = 1.0
_ALIVE_EVERY: Final = 10.0
_GONE_AFTER: Final = 10.0
"""Seconds without the scheduler after which it is held for gone."""
_FULL_FOR: Final = 60.0
"""Seconds for which the memory of all workers may be full."""
_STOP_WITHIN: Final = 30.0
_ASKED: Final = 5
"""How often a worker is asked what it runs before it is refused."""


# --- who may be a worker


def described_workers(identity: Mapping[str, Any], status: str = "running") -> dict[str, tuple[str, int]]:
    """The workers that a scheduler knows: name and threads by address.

    Args:
        identity: what the scheduler says of itself.
        status: those that are in it; Dask calls `paused` one whose memory is full.
    """
    return {
        address: (str(described.get("name", address)), int(described.get("nthreads", 1)))
        for address, described in identity.get("workers", {}).items()
        if described.get("status", "running") == status
    }


def refusal(other: Mapping[str, Any] | None, command: Mapping[str, Any]) -> str | None:
    """Why a scheduler or a worker may not be used; None where it may.

    Args:
        other: its versions, as Dask's `versions` gives them; None where it did not tell.
        command: those of the command.
    """
    if other is None:
        return "does not say what it runs"
    theirs, ours = other.get("packages", {}), command.get("packages", {})
    for package in _MUST_EQUAL:
        if theirs.get(package) == ours.get(package):
            continue
        if theirs.get(package) is None:
            return f"has not {package} {ours.get(package)}: install it there"
        return f"has {package} {theirs[package]}, and the command {ours.get(package) or 'none'}"
    if _minor(other) != _minor(command):
        return f"runs Python {_minor(other)}, and the command {_minor(command)}"
    return None


def _minor(versions: Mapping[str, Any]) -> str:
    return ".".join(str(versions.get("host", {}).get("python", "")).split(".")[:2])


# --- on the worker


def begin(run: str, dask_worker: Any = None) -> None:
    """Connect this worker with the command of a run; Dask says which worker it is."""
    worker = dask_worker
    address = str(worker.address)
    name = str(worker.name)

    def send(kind: str, number: int, content: Any) -> None:
        message = {"kind": kind, "number": number, "content": pickle.dumps(content), "from": address}
        worker.log_event(_topic_of(run), message)

    on_worker.command.connect(name, send)
    threading.Thread(target=on_worker.end_in_silence, args=(run,), daemon=True).start()


def deliver(number: int, answer: bytes) -> None:
    """Hand over an answer; runs on the worker that asked."""
    on_worker.command.deliver(number, pickle.loads(answer))  # noqa: S301 - from the command, which says what runs here


def _topic_of(run: str) -> str:
    return f"mcp-replay-{run}"


# --- in the command


@dataclass(eq=False)
class DaskWorker:
    """A worker of the cluster."""

    client: Client
    address: str
    name: str
    threads: int
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives there, or raises."""
        future: Any = self.client.submit(
            function,
            *arguments,
            pure=False,
            retries=0,
            workers=[self.address],
            allow_other_workers=False,
            key=f"replay-{secrets.token_hex(8)}",
        )
        result = asyncio.ensure_future(_result_of(future))
        lost = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait([result, lost], return_when=asyncio.FIRST_COMPLETED)
            if not result.done():  # Dask would wait for the worker to come back
                raise WorkerLostError("the worker is gone: out of memory?")
            return result.result()
        finally:
            for task in (result, lost):
                task.cancel()
            future.release()


async def _result_of(future: Any) -> Any:
    try:
        return await future
    except asyncio.CancelledError:
        if future.cancelled():
            raise WorkerLostError("the scheduler forgot the task") from None
        raise
    except Exception as problem:
        if type(problem).__name__ == "KilledWorker":
            raise WorkerLostError("the worker is gone: out of memory?") from None
        raise


@dataclass
class _Watch:
    """Keeps the workers of a pool up to date, and answers them."""

    client: Client
    pool: Pool
    note: Callable[[str], None]
    refused: dict[str, str] = field(default_factory=dict)
    full: dict[str, str] = field(default_factory=dict)
    """Those that take no work until memory is free."""
    _silent: Counter[str] = field(default_factory=Counter)
    """How often workers did not say what they run."""
    _replies: set[asyncio.Task[None]] = field(default_factory=set)

    def receive(self, event: tuple[float, Any]) -> None:
        """Take a message of a worker."""
        message = event[1]
        content = pickle.loads(message["content"])  # noqa: S301 - from a worker that runs what the command sent
        answer = self.pool.answer(message["kind"], content, asked=message["number"] >= 0)
        if message["number"] >= 0:
            reply = asyncio.create_task(self._reply(message, pickle.dumps(answer)))
            self._replies.add(reply)
            reply.add_done_callback(self._replies.discard)

    async def _reply(self, message: Any, answer: bytes) -> None:
        with suppress(Exception):  # whoever asked is gone
            await self.everywhere(deliver, message["number"], answer, workers=[message["from"]])

    async def everywhere(
        self, function: Callable[..., Any], *arguments: Any, workers: list[str] | None = None
    ) -> dict[str, Any]:
        """What a function gives on workers, or the error in its place, by address; it runs beside their tasks."""
        asked: Any = self.client.run(
            function, *arguments, workers=list(self.pool.workers) if workers is None else workers, on_error="return"
        )
        return dict(await asked)

    async def wait_for_workers(self) -> None:
        """Wait until there is a worker that may judge.

        Raises:
            ClusterError: there are only such that may not, or the scheduler is gone.
        """
        told = False
        while not self.pool.workers:
            if self.pool.gone is not None:
                raise ClusterError(self.pool.gone)
            if self.refused:
                raise ClusterError(f"no worker can be used: {'; '.join(self.refused.values())}")
            self.pool.changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.pool.changed.wait(), 5)
            if not (self.pool.workers or self.refused or self.full or told):
                told = True
                self.note(f"the scheduler at {self.pool.location} has no workers yet; waiting for some")

    async def run(self) -> None:
        """Keep the list of workers up to date, and let them know that the command is there."""
        silent = told_alive = full = 0.0
        while self.pool.gone is None:
            try:
                await self._look()
                silent = 0.0
                full = full + _LOOK_EVERY if self.full and not self.pool.workers else 0.0
                if full >= _FULL_FOR:
                    names = ", ".join(self.full.values())
                    self.pool.end(f"the memory of every worker is full ({names}): give them more; {KEPT}")
                if told_alive >= _ALIVE_EVERY:
                    told_alive = 0.0
                    await self.everywhere(on_worker.alive, self.pool.run)
            except Exception as problem:  # noqa: BLE001 - whatever it is, nobody answers
                silent += _LOOK_EVERY
                if silent >= _GONE_AFTER or self.client.status != "running":
                    self.pool.end(f"the scheduler at {self.pool.location} is gone ({type(problem).__name__}); {KEPT}")
                    self._lose(list(self.pool.workers))
            await asyncio.sleep(_LOOK_EVERY)
            told_alive += _LOOK_EVERY

    def _lose(self, addresses: list[str]) -> None:
        for address in addresses:
            worker: Any = self.pool.workers.pop(address)
            worker.lost.set()

    async def _look(self) -> None:
        scheduler: Any = self.client.scheduler
        identity = await asyncio.wait_for(scheduler.identity(n_workers=-1), _GONE_AFTER)
        running, paused = described_workers(identity), described_workers(identity, "paused")
        full = {address: name for address, (name, _) in paused.items() if address not in self.refused}
        gone = [address for address in self.pool.workers if address not in running.keys() | full.keys()]
        for address in gone:
            self.note(f"the worker {self.pool.workers[address].name} is gone; its work is given to another")
        self._lose(gone)
        for address in full.keys() - self.full.keys():
            self.pool.workers.pop(address, None)
            self.note(f"the memory of the worker {full[address]} is full; it gets no work until some is free")
        self.full = full
        there = identity.get("workers", {})
        self.refused = {address: why for address, why in self.refused.items() if address in there}
        self._silent = Counter({address: times for address, times in self._silent.items() if address in there})
        new = {a: worker for a, worker in running.items() if a not in self.pool.workers and a not in self.refused}
        if new:
            await self._accept(new)
            self.pool.changed.set()

    async def _accept(self, new: dict[str, tuple[str, int]]) -> None:
        asked: Any = self.client.get_versions(packages=[PACKAGE])  # a coroutine, as the client is asynchronous
        versions = await asked
        for address, (name, threads) in new.items():
            its = versions["workers"].get(address)
            why = refusal(its, versions["client"])
            self._silent[address] += its is None
            if why is not None and its is None and self._silent[address] < _ASKED:
                continue  # it may just be ending
            if why is not None:
                self.refused[address] = f"{name} {why}"
                self.note(f"the worker {name} is not used: it {why}")
                continue
            begun = (await self.everywhere(begin, self.pool.run, workers=[address])).get(address)
            if isinstance(begun, BaseException):
                self.refused[address] = f"{name} cannot begin: {_first_line(begun)}"
                self.note(f"the worker {name} is not used: it cannot begin: {_first_line(begun)}")
                continue
            self.pool.workers[address] = DaskWorker(self.client, address, name, threads)


@asynccontextmanager
async def connected(location: WorkerLocation, note: Callable[[str], None]) -> AsyncIterator[Pool]:
    """The workers of a scheduler, when the first of them is there.

    Args:
        location: where the scheduler is.
        note: told what a person should know.

    Raises:
        MissingExtraError: Dask is not installed.
        ClusterError: the scheduler does not answer, speaks otherwise, or has no worker that can be used.
    """
    with _configured():
        import distributed

        try:
            await _check(str(location.scheduler))
            connecting: Any = distributed.Client(  # type: ignore[no-untyped-call]
                location.scheduler, asynchronous=True, timeout=CONNECT_WITHIN
            )
            client: Client = await connecting
        except (OSError, TimeoutError, ValueError, TypeError, AssertionError, ImportError, RuntimeError) as problem:
            raise ClusterError(
                f"the scheduler at {location.scheduler} cannot be used: {_first_line(problem)}. "
                f"Is it there, and does it run distributed {version('distributed')}?"
            ) from None
        async with client:
            pool = Pool(location, secrets.token_hex(8))
            watch = _Watch(client, pool, note)
            client.subscribe_topic(_topic_of(pool.run), watch.receive)  # type: ignore[no-untyped-call]
            watching = asyncio.create_task(watch.run())
            try:
                await watch.wait_for_workers()
                yield pool
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
                with suppress(Exception):
                    await asyncio.wait_for(watch.everywhere(on_worker.stop, pool.run), _STOP_WITHIN)


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


@contextmanager
def _configured() -> Iterator[None]:
    """Dask, quiet: what goes wrong is told by the command, in its own words.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import dask
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError(install_command("cluster"), "--cluster") from None
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        timeout = {"distributed.comm.timeouts.connect": f"{CONNECT_WITHIN:g}s"}
        with warnings.catch_warnings(), dask.config.set(timeout):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _first_line(problem: BaseException) -> str:
    """What a person is told of a problem."""
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
