"""Workers, as the command sees them: so many jobs in flight, and those of a lost worker given to another."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from replay.errors import ReplayError

IN_FLIGHT: Final = 2
"""Jobs that are given out for each thread of a worker: the one it does, and the next."""
MAX_ATTEMPTS: Final = 3
"""How often a job is given out before it is given up."""
_LOOK_EVERY: Final = 1.0
_LOST: Final = 8
"""Workers that were lost with nothing done before: there is no hope for the rest."""
KEPT: Final = "what was done is kept, the same command goes on from there"


class ClusterError(ReplayError):
    """The scheduler or the workers cannot be used, or are gone."""


class WorkerLostError(Exception):
    """The worker is gone; the text says how."""


@dataclass(frozen=True)
class WorkerLocation:
    """Where the workers are: processes of this machine, or those of a scheduler; one of both is given."""

    workers: int | None = None
    """How many processes are started here."""
    scheduler: str | None = None
    """The address of a Dask scheduler, such as `tcp://10.0.0.1:8786`."""
    threads: int = 1
    """Trajectories side by side in each process that is started here."""

    @property
    def is_local(self) -> bool:
        """Whether the workers share this machine, its files and its environment."""
        return self.scheduler is None

    def __str__(self) -> str:
        return self.scheduler or "this machine"


class Worker(Protocol):
    """One worker."""

    name: str
    threads: int

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives there, or raises. Raises WorkerLostError where the worker is gone."""


class Job:
    """A function that a worker calls, and who takes what it gives.

    Args:
        function: found by its name on the worker.
        arguments: of the function.
        take: gets what it gives.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        take: Callable[[Any], None] = lambda result: None,
    ) -> None:
        self._function, self._arguments, self._take = function, arguments, take
        self.attempts = 0
        """How often it was given out."""
        self.failed_on: set[str] = set()

    def task(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function and its arguments; asked anew whenever the job is given out."""
        self.attempts += 1
        return self._function, self._arguments

    def not_for(self) -> Collection[str]:
        """Names of workers that do not get it as long as there are others."""
        return self.failed_on

    def done(self, worker: str, result: Any) -> bool:
        """Take the result; whether the job must be given out again all the same."""
        self._take(result)
        return False

    def failed(self, worker: str, problem: Exception) -> bool:
        """Whether to give it out again: a lost worker is replaced. An error ends all, as no other would fare better."""
        self.failed_on.add(worker)
        if isinstance(problem, WorkerLostError) and self.attempts < MAX_ATTEMPTS:
            return True
        if isinstance(problem, ReplayError):
            raise problem
        raise ClusterError(f"a worker could not do its part: {type(problem).__name__}: {problem}") from problem


DoAll = Callable[[Iterable[Job]], None]
"""Has the workers do jobs, and returns when all are done."""


@dataclass
class Pool:
    """Workers that may be used. Made by `open_pool`."""

    location: WorkerLocation
    run: str
    """Tells this run of the command from others on the same workers."""
    workers: dict[str, Worker] = field(default_factory=dict)
    """By address."""
    handle: Callable[[str, Any], Any] = lambda kind, content: None
    """Answers the messages of workers; what it raises is raised where the worker asked."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set where a worker came or went, or all is over."""
    gone: str | None = None
    """Why no worker will come any more."""
    _problem: Exception | None = None
    _any_done: bool = False
    _lost: Counter[str] = field(default_factory=Counter)

    async def do(self, jobs: Iterable[Job]) -> None:
        """Have the workers do all jobs; results come in any order.

        Raises:
            ClusterError: there are no workers any more.
        """
        more: Iterator[Job] = iter(jobs)
        again: deque[Job] = deque()
        in_flight: dict[asyncio.Task[Any], tuple[Job, Worker]] = {}
        try:
            while True:
                self._check()
                while (job := self._next(again, more, in_flight)) is not None:
                    worker = self._free_for(job, in_flight)
                    function, arguments = job.task()
                    in_flight[asyncio.create_task(worker.call(function, *arguments))] = job, worker
                    await asyncio.sleep(0)
                if in_flight:
                    await asyncio.wait(in_flight, timeout=_LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
                elif again or not self.workers:
                    await self._wait_for_change()
                else:
                    return
                for task in [task for task in in_flight if task.done()]:
                    job, worker = in_flight.pop(task)
                    if self._must_be_repeated(task, job, worker):
                        again.append(job)
        finally:
            for task in in_flight:
                task.cancel()
            await asyncio.gather(*in_flight, return_exceptions=True)

    def _next(
        self, again: deque[Job], more: Iterator[Job], in_flight: dict[asyncio.Task[Any], tuple[Job, Worker]]
    ) -> Job | None:
        """The next job, where a worker has room for it."""
        room = sum(worker.threads for worker in self.workers.values()) * IN_FLIGHT - len(in_flight)
        if room <= 0:
            return None
        return again.popleft() if again else next(more, None)

    def _free_for(self, job: Job, in_flight: dict[asyncio.Task[Any], tuple[Job, Worker]]) -> Worker:
        """The worker with the least to do, of those that a job is for."""
        unsuited = job.not_for()
        suited = [worker for worker in self.workers.values() if worker.name not in unsuited]
        load = Counter(id(worker) for _, worker in in_flight.values())
        return min(suited or self.workers.values(), key=lambda worker: load[id(worker)] / worker.threads)

    def _must_be_repeated(self, task: asyncio.Task[Any], job: Job, worker: Worker) -> bool:
        """Hand over what a worker gave; whether its job must be given out again."""
        problem = task.exception()
        if problem is None:
            self._any_done = True
            return job.done(worker.name, task.result())
        if not isinstance(problem, Exception):
            raise problem
        if isinstance(problem, WorkerLostError):
            self._lost[worker.name] += 1
            if not self._any_done and self._lost.total() >= _LOST:
                names = ", ".join(sorted(self._lost))
                raise ClusterError(
                    f"the workers are lost before they have done anything ({names}): out of memory? {KEPT}"
                )
        return job.failed(worker.name, problem)

    async def on_each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What a function gives on each worker; those that cannot begin, or are lost meanwhile, are left out.

        Raises:
            ClusterError: none could begin.
        """
        workers = list(self.workers.values())
        done = await asyncio.gather(*(worker.call(function, *arguments) for worker in workers), return_exceptions=True)
        self._check()
        failed = [
            f"{worker.name}: {one or type(one).__name__}"
            for worker, one in zip(workers, done, strict=True)
            if isinstance(one, BaseException)
        ]
        if failed and len(failed) == len(done):
            raise ClusterError(f"no worker could begin ({'; '.join(failed)})")
        return [one for one in done if not isinstance(one, BaseException)]

    def end(self, why: str) -> None:
        """Let everybody who waits know that it is over."""
        self.gone = why
        self.changed.set()

    async def _wait_for_change(self) -> None:
        self.changed.clear()
        await self.changed.wait()

    def answer(self, kind: str, content: Any, *, asked: bool) -> tuple[bool, Any]:
        """Whether a message of a worker failed, and the answer or the error; where nobody asked, that ends all."""
        try:
            return False, self.handle(kind, content)
        except Exception as problem:  # noqa: BLE001 - raised where it asked
            if not asked:
                self._problem = self._problem or problem
                self.changed.set()
            return True, problem

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem
        if self.gone is not None:
            raise ClusterError(self.gone)
