"""What runs on a worker: it reads files or gets trajectories, judges them, and sends back rows of the run file."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from anyio import CancelScope
from anyio.from_thread import start_blocking_portal

from replay.errors import FormatError
from replay.formats import look_through
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry
from replay.records import Answer, Server, Trajectory
from replay.replayer.backends import AnswerBackend, LiveBackend, StoredBackend
from replay.replayer.journal import Checkpoint, InputCalls
from replay.replayer.messages import (
    Claim,
    FilePart,
    JudgedRows,
    Lease,
    LeaseLostError,
    NotHereError,
    Replayed,
    Settings,
    WorkerReport,
)
from replay.replayer.plan import ReplayContext, live_registry
from replay.replayer.trajectory import replay_trials
from replay.runfile.effects_journal import EffectKey, SentCall
from replay.runfile.shipped_rows import RowMaker, ShippedRows
from replay.safety.redaction import Redactor, redacting

_TELL_EVERY: Final = 0.5
"""Seconds between two messages about how many calls are done."""
_CALLS_A_MESSAGE: Final = 200
"""Calls whose verdicts are sent together: a message costs milliseconds."""
_PATIENCE: Final = 600.0
"""Seconds to wait for an answer of the command."""
SILENCE: Final = 120.0
"""Seconds without a sign of life from the command after which a worker of a cluster stops its servers."""


# --- asking the command


class CommandLink:
    """How this process asks the command, and is answered."""

    def __init__(self) -> None:
        self.worker_name = ""
        """By which a person knows this worker."""
        self._send: Callable[[str, int, Any], None] = lambda kind, number, content: None
        self._waiting: dict[int, Future[Any]] = {}
        self._number = 0
        self._lock = threading.Lock()

    def connect(self, name: str, send: Callable[[str, int, Any], None]) -> None:
        """Say how a message goes out: its kind, its number (-1 where no answer is wanted), and its content."""
        self.worker_name, self._send = name, send

    def tell(self, kind: str, content: Any) -> None:
        """Send a message that needs no answer."""
        self._send(kind, -1, content)

    def ask(self, kind: str, content: Any) -> Future[Any]:
        """Send a question; the future gets the answer, or the error that the command raised."""
        future: Future[Any] = Future()
        with self._lock:
            self._number += 1
            number = self._number
        self._waiting[number] = future
        self._send(kind, number, content)
        return future

    def deliver(self, number: int, answer: tuple[bool, Any]) -> None:
        """Hand over an answer, or the error in its place."""
        future = self._waiting.pop(number, None)
        if future is not None:
            failed, value = answer
            future.set_exception(value) if failed else future.set_result(value)

    def give_up_waiting(self, problem: Exception) -> None:
        """End every question: nobody is there to answer."""
        for number in list(self._waiting):
            self.deliver(number, (True, problem))


command: Final = CommandLink()
"""Of this process."""


class RemoteCheckpoint(Checkpoint):
    """The memory of a replay on a worker: a call with effects is sent when the command has noted it, and not before.

    What has no effects may be sent again, so that a worker keeps no verdicts.

    Args:
        lease: of the trajectory.
    """

    def __init__(self, lease: Lease) -> None:
        super().__init__()
        self._lease, self.results = lease, lease.results
        self._owner = secrets.token_hex(8)

    @property
    def answers(self) -> tuple[tuple[EffectKey, SentCall], ...]:
        """What the calls got that this execution sent."""
        return tuple((key, sent) for key, sent in self._sent.items() if key not in self.not_repeated)

    def _found(self, key: EffectKey) -> SentCall | None:
        return self._lease.sent.get(key)

    async def before_send(self, key: EffectKey) -> None:
        """Have the command note, for good, that the call is about to be sent.

        Raises:
            LeaseLostError: the trajectory is another worker's by now.
        """
        claim = Claim(self._lease.row, self._lease.attempt, self._owner, key)
        await asyncio.wrap_future(command.ask("claim", claim))
        self._sent[key] = SentCall()

    def after_send(self, key: EffectKey, answer: Answer, stderr: str = "") -> None:
        """Tell the command at once what the call got."""
        self._sent[key] = SentCall(answer, stderr)
        command.tell("answer", (self._lease.row, key, self._sent[key]))


def stored_answer(key: str) -> Answer | None:
    """The answer that the command has under a key; None where there is none."""
    answer: Answer | None = command.ask("stored", key).result(_PATIENCE)
    return answer


# --- judging


class RunOnWorker:
    """Judges the trajectories of one run in this process, in an event loop of its own.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.heard = time.monotonic()
        """When the command was last known to be there."""
        self._stack = ExitStack()
        self._uncounted, self._told = 0, 0.0
        self._scopes: set[CancelScope] = set()
        try:
            self._portal = self._stack.enter_context(start_blocking_portal())
            self._stack.enter_context(self._portal.wrap_async_context_manager(self._opened()))
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        """Stop the servers, and what is being judged."""
        self._portal.call(self._cancel_all)
        self._stack.close()

    def _cancel_all(self) -> None:
        for scope in self._scopes:
            scope.cancel()

    @property
    def report(self) -> WorkerReport:
        """The servers, as this worker has them."""
        context = self._context
        notes = tuple(f"{who}: {note}" for note, who in getattr(context.backend, "notes", {}).items())
        return WorkerReport(command.worker_name, tuple(context.registry.servers.values()), notes)

    def replay(self, trajectory: Trajectory, lease: Lease) -> Replayed:
        """Replay a trajectory on the servers of this worker."""
        checkpoint = RemoteCheckpoint(lease)
        rows = self._portal.call(self._judged, trajectory, checkpoint, lease)
        lacking = tuple(self._context.registry.unavailable)
        return Replayed(rows, len(checkpoint.not_repeated), checkpoint.answers, lacking)

    def judge(self, part: FilePart) -> JudgedRows:
        """Read a file and judge it by stored and recorded answers; gives what was not sent before."""
        try:
            size = part.source.file.size()
        except FormatError:
            size = -1
        if size != part.size:
            raise NotHereError(f"{part.source.file.path} is not here, or is another file here")
        return self._judge(part)

    def _judge(self, part: FilePart) -> JudgedRows:
        file = look_through(*part.source)
        rows: list[tuple[int, ShippedRows]] = []
        command.tell("opened", JudgedRows(command.worker_name, file.summary, ()))
        calls = 0
        limit = self.settings.options.limit
        for number, trajectory in enumerate(islice(file.trajectories(), limit)):
            if number % part.parts != part.part or number in part.done:
                continue
            rows.append((number, self._portal.call(self._judged, trajectory, Checkpoint(), None)))
            calls += sum(len(step.calls) for step in trajectory.steps)
            if calls >= _CALLS_A_MESSAGE or part.one_by_one:
                command.tell("rows", JudgedRows(command.worker_name, file.summary, tuple(rows)))
                rows, calls = [], 0
        return JudgedRows(command.worker_name, file.summary, tuple(rows))

    async def _judged(self, original: Trajectory, checkpoint: Checkpoint, lease: Lease | None) -> ShippedRows:
        context, settings = self._context, self.settings
        with CancelScope() as scope, redacting(self._redactor):
            self._scopes.add(scope)
            try:
                trajectory = context.as_named_here(original)
                replayed, results = await replay_trials(
                    trajectory, context, settings.options, checkpoint, lambda: self._count(lease)
                )
                return self._rows.rows(original, settings.policy, replayed, results, self._keep_findings)
            finally:
                self._scopes.discard(scope)
        raise LeaseLostError("the run was ended")

    def _count(self, lease: Lease | None) -> None:
        """Tell now and then how many calls have their verdict; offline the results tell it soon enough."""
        if lease is None:
            return
        self._uncounted += 1
        now = time.monotonic()
        if now - self._told >= _TELL_EVERY:
            command.tell("calls", (command.worker_name, lease.row, lease.attempt, self._uncounted))
            self._uncounted, self._told = 0, now

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        """Have what trajectories are judged with, as long as the block lasts."""
        settings = self.settings
        if settings.fleet is None:
            backend = StoredBackend(stored_answer if settings.stored_answers else {}, settings.facts)
            self._judge_with(backend, settings.registry or Registry(), Redactor(settings.secrets))
            yield
            return
        fleet = Fleet.model_validate(dict(settings.fleet))
        redactor = Redactor(dict.fromkeys((*settings.secrets, *fleet.secrets())))
        with redacting(redactor), _logs(settings.logs) as logs:
            async with Interpreter(
                fleet, names=settings.names, logs=logs, instances=settings.options.instances
            ) as interpreter:
                await interpreter.start()
                servers = {name: _here(server) for name, server in interpreter.servers.items()}
                registry = live_registry(fleet, servers, interpreter.tools_complete)
                async with LiveBackend(interpreter, settings.facts, settings.options.allow_effects) as live:
                    self._judge_with(live, registry, redactor)
                    yield

    def _judge_with(self, backend: AnswerBackend, registry: Registry, redactor: Redactor) -> None:
        settings, inputs = self.settings, InputCalls({}, registry)
        self._context = ReplayContext(backend, registry, settings.rules, settings.dispatchers, settings.policy, inputs)
        self._redactor = redactor
        self._rows = RowMaker(redactor, registry.servers.values())
        self._finder = settings.finder(self._rows.run) if settings.finder else None

    def _keep_findings(self, row: int) -> None:
        """Find what a trajectory shows; where that fails, the command tries it."""
        with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            if self._finder is not None:
                self._finder.keep(row)


def _here(server: Server) -> Server:
    """The server; where it did not start, its error says on which worker."""
    if server.error is None:
        return server
    return server.model_copy(update={"error": f"{server.error} (on the worker {command.worker_name})"})


@contextmanager
def _logs(directory: str | None) -> Iterator[Path]:
    if directory is not None:
        yield Path(directory, f"worker-{command.worker_name}")
        return
    with TemporaryDirectory(prefix=f"mcp-replay-{os.getpid()}-") as made:
        yield Path(made)


# --- tasks

_RUNS: Final[dict[str, RunOnWorker]] = {}
_ENDED: Final[set[str]] = set()
"""Runs that are over: a task of theirs that comes late starts no servers."""
_LOCK: Final = threading.Lock()


def start(run: str) -> WorkerReport:
    """Start the servers of a run before there is anything to judge."""
    return _run_on_worker(run).report


def replay_trajectory(run: str, trajectory: Trajectory, lease: Lease) -> Replayed:
    """Replay a trajectory on the servers of this worker."""
    return _run_on_worker(run).replay(trajectory, lease)


def judge_file(run: str, part: FilePart) -> JudgedRows:
    """Read a file, or a part of it, and judge it."""
    return _run_on_worker(run).judge(part)


def _run_on_worker(run: str) -> RunOnWorker:
    with _LOCK:
        if run in _ENDED:
            raise LeaseLostError("the run is over")
        if run not in _RUNS:
            _RUNS[run] = RunOnWorker(command.ask("settings", None).result(_PATIENCE))
        return _RUNS[run]


def alive(run: str) -> None:
    """Take note that the command is there."""
    running = _RUNS.get(run)
    if running is not None:
        running.heard = time.monotonic()


def end_in_silence(run: str) -> None:
    """Stop a run whose command is not heard any more; runs in a thread of a worker of a cluster."""
    while run not in _ENDED:
        time.sleep(SILENCE / 10)
        running = _RUNS.get(run)
        if running is not None and time.monotonic() - running.heard > SILENCE:
            stop(run)


def stop(run: str) -> WorkerReport | None:
    """End a run on this worker; gives the servers as they were found."""
    with _LOCK:
        _ENDED.add(run)
        running = _RUNS.pop(run, None)
    if running is None:
        return None
    report = running.report
    command.give_up_waiting(LeaseLostError("the run is over"))
    running.close()
    return report


def stop_all() -> None:
    """End every run on this worker; where none has servers that must be stopped, the process ends at once."""
    if all(running.settings.fleet is None for running in _RUNS.values()):
        os._exit(0)
    command.give_up_waiting(LeaseLostError("the run is over"))
    for run in list(_RUNS):
        stop(run)
