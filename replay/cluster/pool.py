"""The workers, as the command sees them: so many jobs in flight, the lost ones given out again."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from replay.cluster import worker as on_worker
from replay.cluster.acceptance import PACKAGE, Worker, refusal, workers_of
from replay.cluster.connecting import connected
from replay.cluster.mailbox import deliver, topic_of
from replay.cluster.place import ClusterError, LocalWorkers, Place

if TYPE_CHECKING:
    from distributed import Client, Future

IN_FLIGHT: Final = 2
"""Jobs that are given out for each thread of a worker: the one it does, and the next."""
_LOOK_EVERY: Final = 1.0
_ALIVE_EVERY: Final = 10.0
_REPLACED_AFTER: Final = 20.0
"""Seconds after which a local worker that did not come back is looked after."""
_GONE_AFTER: Final = 10.0
"""Seconds without the scheduler after which it is held for gone."""
_FULL_FOR: Final = 60.0
"""Seconds for which the memory of all workers may be full."""
_ASKED: Final = 5
"""How often a worker is asked what it runs before it is refused."""
_LOST: Final = 8
"""Tasks of which no worker survived, with nothing done before: there is no hope for the rest."""
_KEPT: Final = "what was done is kept, the same command goes on from there"


class Job(Protocol):
    """Something for a worker to do."""

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and its arguments; asked anew whenever the job is given out."""

    def not_for(self) -> Collection[str]:
        """Names of workers that do not get it as long as there are others."""

    def done(self, result: Any) -> Sequence[Job]:
        """Take the result; gives what must be given out in its place, or again."""

    def failed(self, problem: Exception) -> Sequence[Job]:
        """Take note that the task failed, or that every worker which had it was lost; likewise."""


@dataclass
class Pool:
    """Workers that may judge. Made by `open_pool`."""

    client: Client
    place: Place
    note: Callable[[str], None]
    kept: LocalWorkers | None = None
    """The processes of this machine, where the workers are those."""
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tells this run from others on the same workers."""
    workers: dict[str, Worker] = field(default_factory=dict)
    """Those that may judge, by address."""
    refused: dict[str, str] = field(default_factory=dict)
    full: dict[str, Worker] = field(default_factory=dict)
    """Those that take no work until memory is free."""
    on_new_worker: Callable[[], None] = lambda: None
    _gone: str | None = None
    _silent: Counter[str] = field(default_factory=Counter)
    """How often workers did not say what they run."""
    _any_done: bool = False
    _lost: Counter[str] = field(default_factory=Counter)
    """Tasks whose workers were all lost, by the last of them."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _replies: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def capacity(self) -> int:
        """How many jobs may be in flight."""
        return max(1, sum(worker.threads for worker in self.workers.values())) * IN_FLIGHT

    def listen(self, handle: Callable[[Any], bytes | None]) -> None:
        """Have the messages of the workers answered.

        Args:
            handle: gets a message, and gives the answer where it is a question.
        """

        def receive(event: tuple[float, Any]) -> None:
            answer = handle(event[1])
            if answer is not None:
                reply = asyncio.create_task(self._reply(event[1], answer))
                self._replies.add(reply)
                reply.add_done_callback(self._replies.discard)

        self.client.subscribe_topic(topic_of(self.run), receive)  # type: ignore[no-untyped-call]

    async def _reply(self, message: Any, answer: bytes) -> None:
        with suppress(Exception):  # whoever asked is gone
            await self._on([message["from"]], deliver, message["number"], answer)

    async def _on(self, addresses: list[str], function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Run a function on workers beside their tasks."""
        found = await self.client.run(function, *arguments, workers=addresses, on_error="return")
        return dict(found)

    async def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """What a function gives on each worker, by address; those that failed are left out."""
        with suppress(OSError, ValueError):
            found = await self._on(list(self.workers), function, *arguments)
            return {address: value for address, value in found.items() if not isinstance(value, BaseException)}
        return {}

    async def on_each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What a task gives on each worker; those that cannot begin, or are lost meanwhile, are named and left out."""
        workers = list(self.workers.values())
        futures = [
            self.client.submit(function, *arguments, pure=False, retries=0, workers=[worker.address])
            for worker in workers
        ]
        tasks = [_awaited(future) for future in futures]
        try:
            while not all(task.done() for task in tasks):
                await asyncio.wait([task for task in tasks if not task.done()], timeout=_LOOK_EVERY)
                self._check()
                for worker, task in zip(workers, tasks, strict=True):
                    if worker.address not in self.workers:
                        task.cancel()  # Dask would wait for it to come back
        finally:
            for task in tasks:
                task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        if self.client.status != "running":
            raise ClusterError(self._gone_because("it closed the connection"))
        failed = [
            f"{worker.name}: {_reason(one)}"
            for worker, one in zip(workers, done, strict=True)
            if isinstance(one, BaseException)
        ]
        if failed and len(failed) == len(done):
            raise ClusterError(f"no worker could begin ({'; '.join(failed)})")
        for one in failed:
            self.note(f"a worker could not begin: {one}")
        return [one for one in done if not isinstance(one, BaseException)]

    # --- jobs

    async def do(self, jobs: Iterator[Job]) -> None:
        """Have the workers do all jobs, so many at a time as `capacity` says; results come in any order.

        Raises:
            ClusterError: the scheduler is gone.
        """
        in_flight: dict[asyncio.Task[Any], tuple[Job, Future[Any], frozenset[str]]] = {}
        waiting: list[Job] = []
        more = True
        try:
            while True:
                while more and len(in_flight) + len(waiting) < self.capacity:
                    job = next(jobs, None)
                    more = job is not None
                    waiting += [job] if job is not None else []
                    await asyncio.sleep(0)
                while waiting:
                    self._give_out(waiting.pop(0), in_flight)
                if not in_flight:
                    return
                await asyncio.wait(in_flight, timeout=_LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
                self._check()
                waiting += self._collect(in_flight)
        finally:
            for task, (_, future, _) in in_flight.items():
                task.cancel()
                future.release()  # type: ignore[no-untyped-call]

    def _give_out(self, job: Job, in_flight: dict[asyncio.Task[Any], tuple[Job, Future[Any], frozenset[str]]]) -> None:
        function, arguments = job.task()
        unsuited = job.not_for()
        suited = {address for address, worker in self.workers.items() if worker.name not in unsuited}
        allowed = frozenset(suited or self.workers) if self.refused or unsuited else frozenset()
        future = self.client.submit(
            function,
            *arguments,
            pure=False,
            retries=0,
            workers=sorted(allowed) or None,
            key=f"{self.run}-{secrets.token_hex(8)}",
        )
        in_flight[_awaited(future)] = (job, future, allowed)

    def _collect(self, in_flight: dict[asyncio.Task[Any], tuple[Job, Future[Any], frozenset[str]]]) -> Iterator[Job]:
        """The jobs that must be given out again."""
        for task, (job, future, allowed) in list(in_flight.items()):
            if not task.done():
                if not allowed or allowed & self.workers.keys() or not self.workers:
                    continue
                task.cancel()  # every worker that it was meant for is gone
                again: Sequence[Job] = [job]
            else:
                problem = task.exception()
                if problem is not None and self.client.status != "running":
                    raise ClusterError(self._gone_because(type(problem).__name__))
                if problem is None:
                    self._any_done = True
                    again = job.done(task.result())
                elif isinstance(problem, Exception):
                    self._count_lost(problem)
                    again = job.failed(problem)
                else:
                    raise problem
            del in_flight[task]
            future.release()  # type: ignore[no-untyped-call]
            yield from again

    def _count_lost(self, problem: Exception) -> None:
        """See whether workers do anything but die.

        Raises:
            ClusterError: they do not.
        """
        last = getattr(problem, "last_worker", None)
        if last is not None:
            self._lost[str(last.name)] += 1
        if not self._any_done and self._lost.total() >= _LOST:
            names = ", ".join(sorted(self._lost))
            raise ClusterError(f"the workers are lost before they have done anything ({names}): out of memory? {_KEPT}")

    def _gone_because(self, what: str) -> str:
        return f"the scheduler at {self.place} is gone ({what}); {_KEPT}"

    def _check(self) -> None:
        if self._gone is not None:
            raise ClusterError(self._gone)

    # --- workers

    async def wait_for_workers(self) -> None:
        """Wait until there is a worker that may judge.

        Raises:
            ClusterError: there are only such that may not, or the scheduler is gone.
        """
        told = False
        while not self.workers:
            self._check()
            if self.refused:
                raise ClusterError(f"no worker can be used: {'; '.join(self.refused.values())}")
            self._changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), 5)
            if not self.workers and not self.refused and not self.full and not told:
                told = True
                self.note(
                    f"the scheduler at {self.place.scheduler or 'this machine'} has no workers yet; waiting for some"
                )

    async def watch(self) -> None:
        """Keep the list of workers up to date, and let them know that the command is there."""
        silent = told_alive = missing = full = 0.0
        while True:
            try:
                await self._look()
                silent = 0.0
                missing = missing + _LOOK_EVERY if self._some_are_missing else 0.0
                if missing >= _REPLACED_AFTER and self.kept is not None:
                    missing = 0.0
                    self.kept.start_missing()
                full = full + _LOOK_EVERY if self.full and not self.workers else 0.0
                if full >= _FULL_FOR:
                    names = ", ".join(worker.name for worker in self.full.values())
                    self._end(f"the memory of every worker is full ({names}): give them more; {_KEPT}")
                    return
                if told_alive >= _ALIVE_EVERY:
                    told_alive = 0.0
                    await self.everywhere(on_worker.alive, self.run)
            except Exception as problem:  # noqa: BLE001 - whatever it is, nobody answers
                silent += _LOOK_EVERY
                if silent >= _GONE_AFTER or self.client.status != "running":
                    self._end(self._gone_because(type(problem).__name__))
                    return
            await asyncio.sleep(_LOOK_EVERY)
            told_alive += _LOOK_EVERY

    def _end(self, why: str) -> None:
        self._gone = why
        self._changed.set()

    @property
    def _some_are_missing(self) -> bool:
        return self.place.workers is not None and len(self.workers) < self.place.workers

    async def _look(self) -> None:
        scheduler: Any = self.client.scheduler
        identity = await asyncio.wait_for(scheduler.identity(n_workers=-1), _GONE_AFTER)
        found = workers_of(identity)
        full = {a: worker for a, worker in workers_of(identity, "paused").items() if a not in self.refused}
        for address in list(self.workers):
            if address not in found | full:
                self.note(f"the worker {self.workers.pop(address).name} is gone; its work is given to another")
        for address in full.keys() - self.full.keys():
            self.workers.pop(address, None)
            self.note(f"the memory of the worker {full[address].name} is full; it gets no work until some is free")
        self.full = full
        there = identity.get("workers", {})
        self.refused = {address: why for address, why in self.refused.items() if address in there}
        self._silent = Counter({address: times for address, times in self._silent.items() if address in there})
        new = {address: worker for address, worker in found.items() if address not in self.workers | self.refused}
        if new:
            await self._accept(new)

    async def _accept(self, new: dict[str, Worker]) -> None:
        asked: Any = self.client.get_versions(packages=[PACKAGE])  # a coroutine, as the client is asynchronous
        versions = await asked
        for address, worker in new.items():
            its = versions["workers"].get(address)
            why = None if self.place.is_local else refusal(its, versions["client"])
            self._silent[address] += its is None
            if why is not None and its is None and self._silent[address] < _ASKED:
                continue  # it may just be ending
            if why is None:
                self.workers[address] = worker
            else:
                self.refused[address] = f"{worker.name} {why}"
                self.note(f"the worker {worker.name} is not used: it {why}")
        self._changed.set()
        self.on_new_worker()


class LostError(Exception):
    """The scheduler forgot a task: the connection to it broke."""


def _awaited(future: Future[Any]) -> asyncio.Task[Any]:
    """A task that waits for a future; where nobody waits for it any more, how it ended is not told."""
    task = asyncio.create_task(_result_of(future))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def _reason(problem: BaseException) -> str:
    return str(problem) or ("it is gone" if isinstance(problem, asyncio.CancelledError) else type(problem).__name__)


async def _result_of(future: Future[Any]) -> Any:
    try:
        return await future
    except asyncio.CancelledError:
        if future.cancelled():  # type: ignore[no-untyped-call]
            raise LostError("the scheduler forgot the task") from None
        raise


@asynccontextmanager
async def open_pool(place: Place, note: Callable[[str], None]) -> AsyncIterator[Pool]:
    """The workers of a place, when the first of them is there.

    Args:
        place: where they are.
        note: told what a person should know.

    Raises:
        MissingExtraError: Dask is not installed.
        ClusterError: the scheduler or the workers cannot be used.
    """
    async with connected(place) as (client, kept):
        pool = Pool(client, place, note, kept)
        watch = asyncio.create_task(pool.watch())
        try:
            await pool.wait_for_workers()
            yield pool
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
            with suppress(Exception):
                await asyncio.wait_for(pool.everywhere(on_worker.stop, pool.run), 30)
