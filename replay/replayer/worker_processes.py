"""Opens workers: those of a scheduler, or processes of this machine, asked and answered over a socket each.

A process that is lost is replaced. It is started as `python -P`: the current directory is not where it imports from.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from replay.replayer.pool import ClusterError, DoAll, Pool, WorkerLocation, WorkerLostError
from replay.replayer.worker import command, stop_all

_BEGIN: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from replay.replayer.worker_processes import work; work(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))"
)
_END_WITHIN: Final = 20.0
"""Seconds for a worker to stop its servers."""


class WorkerProcess:
    """A process, and what it was asked.

    Args:
        name: by which a person knows it.
        threads: what it may do side by side.
        pool: answers its questions.
        on_lost: told when it has ended.
    """

    def __init__(self, name: str, threads: int, pool: Pool, on_lost: Callable[[WorkerProcess], None]) -> None:
        self.name, self.threads = name, threads
        self._pool, self._on_lost = pool, on_lost
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = count()
        self._ended = False
        self.was_there = False
        """Whether it came up."""
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).parents[2])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BEGIN, root, str(theirs.fileno()), name, str(threads)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                process_group=0,  # ^C is for the command, which ends its workers in order
            )
        self._socket = ours
        self._connection: Connection[Any, Any] = Connection(os.dup(ours.fileno()))
        self._writing = threading.Lock()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives there, or raises."""
        if self._ended:
            raise WorkerLostError("it has ended")
        number = next(self._numbers)
        future = self._waiting[number] = self._loop.create_future()
        self._send("call", number, (function, arguments))
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    def _send(self, kind: str, number: int, content: Any) -> None:
        with suppress(OSError), self._writing:  # where it is gone, `_read` tells
            self._connection.send_bytes(pickle.dumps((kind, number, content)))

    def _read(self) -> None:
        """Take what it sends, until it ends; runs in a thread."""
        try:
            while True:
                kind, number, content = pickle.loads(self._connection.recv_bytes())  # noqa: S301 - from our process
                self._loop.call_soon_threadsafe(self._take, kind, number, content)
        except (OSError, EOFError, pickle.UnpicklingError):
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._lose)

    def _take(self, kind: str, number: int, content: Any) -> None:
        if kind == "here":
            self.was_there = True
            return
        if kind == "result":
            future = self._waiting.get(number)
            if future is not None and not future.done():
                failed, value = content
                future.set_exception(value) if failed else future.set_result(value)
            return
        answer = self._pool.answer(kind, content, asked=number >= 0)
        if number >= 0:
            self._send("reply", number, answer)

    def _lose(self) -> None:
        self._ended = True
        status = self._process.poll()
        why = "the worker is gone" + (f" (status {status}): out of memory?" if status else "")
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerLostError(why))
        self._on_lost(self)

    def close(self) -> None:
        """Let it know that the command is done with it: it stops its servers and ends."""
        self._ended = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def wait(self) -> None:
        """Wait until it has ended."""
        try:
            self._process.wait(_END_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reading.join()
        self._socket.close()
        self._connection.close()


@asynccontextmanager
async def processes_started(location: WorkerLocation, note: Callable[[str], None]) -> AsyncIterator[Pool]:
    """Worker processes; they end with the block, whatever ends it.

    Args:
        location: how many, and how many threads each has.
        note: told of those that are lost.

    Raises:
        ClusterError: they cannot be started.
    """
    processes = _Processes(Pool(location, secrets.token_hex(8)), note)
    try:
        for _ in range(location.workers or 1):
            processes.start()
        yield processes.pool
    finally:
        with anyio.CancelScope(shield=True):
            await processes.end()


class _Processes:
    """The processes of a pool, those that ended too."""

    def __init__(self, pool: Pool, note: Callable[[str], None]) -> None:
        self.pool, self._note = pool, note
        self._names = map(str, count())
        self._started: list[WorkerProcess] = []

    def start(self) -> None:
        """Start one more."""
        name = next(self._names)
        try:
            process = WorkerProcess(name, self.pool.location.threads, self.pool, self._lost)
        except OSError as problem:
            raise ClusterError(f"the workers could not be started: {problem.strerror}") from None
        self._started.append(process)
        self.pool.workers[name] = process
        self.pool.changed.set()

    def _lost(self, worker: WorkerProcess) -> None:
        if self.pool.workers.pop(worker.name, None) is None:
            return  # the command ended it
        self._note(f"the worker {worker.name} is gone; its work is given to another")
        if worker.was_there:
            self.start()
        elif not self.pool.workers:
            self.pool.end("the workers end as soon as they are started")

    async def end(self) -> None:
        """Have all stop their servers and end, and wait for that."""
        self.pool.workers.clear()
        for process in self._started:
            process.close()
        for process in self._started:
            await anyio.to_thread.run_sync(process.wait)


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
        opened = processes_started(location, note)
    else:
        from replay.replayer.dask_workers import connected

        opened = connected(location, note)
    async with opened as pool:
        yield pool


@contextmanager
def workers_at(location: WorkerLocation, note: Callable[[str], None]) -> Iterator[DoAll]:
    """The workers of a location, for verbs that are not asynchronous."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_pool(location, note)) as pool:
        yield lambda jobs: portal.call(pool.do, iter(jobs))


# --- in the worker


def work(descriptor: int, name: str, threads: int) -> None:
    """Do what the command asks until it closes the connection."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    connection: Connection[Any, Any] = Connection(descriptor)
    writing = threading.Lock()

    def send(kind: str, number: int, content: Any) -> None:
        data = pickle.dumps((kind, number, content))
        with suppress(OSError), writing:  # where the command is gone, the loop below ends
            connection.send_bytes(data)

    def do(number: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            result = False, function(*arguments)
        except Exception as problem:  # noqa: BLE001 - raised where it was asked for
            result = True, problem
        try:
            send("result", number, result)
        except Exception as problem:  # noqa: BLE001 - what cannot be sent is told too
            send("result", number, (True, RuntimeError(f"{type(problem).__name__}: {problem}")))

    command.connect(name, send)
    send("here", -1, None)
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                kind, number, content = pickle.loads(connection.recv_bytes())  # noqa: S301 - from the command
                if kind == "reply":
                    command.deliver(number, content)
                else:
                    pool.submit(do, number, *content)
        except (OSError, EOFError):
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
