"""What judges on a worker: the servers that it started or the stored answers, in an event loop of its own."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from anyio import CancelScope
from anyio.from_thread import start_blocking_portal

from replay.cluster.leases import LeaseLostError, RemoteCheckpoint, TrialOfLease
from replay.cluster.mailbox import Mailbox
from replay.cluster.messages import JudgedTrajectory, Lease, Settings, Unit, UnitResult, WorkerReport
from replay.cluster.reading import Reading
from replay.cluster.stored_answers import StoredAnswers
from replay.diagnosis.stored_findings import FindingStore
from replay.interpreter import Fleet, Interpreter
from replay.outcomes import Registry
from replay.records import Server, Trajectory
from replay.records.call_result import stderr_key
from replay.replayer import (
    AnswerBackend,
    InputCalls,
    LiveBackend,
    ReplayContext,
    StoredBackend,
    expected_keys,
    replay_trials,
)
from replay.replayer.plan import registry_of
from replay.runfile.shipped_rows import RowMaker
from replay.safety.redaction import Redactor, redacting

_TELL_EVERY: Final = 0.5
"""Seconds between two messages about how many calls are done."""


@dataclass(frozen=True)
class _Bench:
    """What trajectories are judged with."""

    context: ReplayContext
    rows: RowMaker
    findings: FindingStore
    redactor: Redactor

    def keep_findings(self, row: int) -> None:
        """Find what a trajectory shows; where that fails, the command tries it."""
        with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            self.findings.keep(row)


class Engine:
    """Judges the trajectories of one run in this process.

    Args:
        settings: of the run.
        mailbox: to its command.
    """

    def __init__(self, settings: Settings, mailbox: Mailbox) -> None:
        self.settings, self._mailbox = settings, mailbox
        self.heard = time.monotonic()
        """When the command was last known to be there."""
        self._stack = ExitStack()
        self._reading, self._answers = Reading(), StoredAnswers(mailbox)
        self._uncounted, self._told = 0, 0.0
        self._scopes: set[CancelScope] = set()
        try:
            self._portal = self._stack.enter_context(start_blocking_portal())
            self._bench = self._stack.enter_context(self._portal.wrap_async_context_manager(self._opened()))
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
        registry = self._bench.context.registry
        backend = self._bench.context.backend
        notes = tuple(f"{who}: {note}" for note, who in getattr(backend, "notes", {}).items())
        return WorkerReport(self._mailbox.name, tuple(registry.servers.values()), notes)

    def judge(self, unit: Unit) -> UnitResult:
        """Judge the trajectories of a unit, one after the other."""
        judged = []
        calls = 0
        trajectories = list(self._reading.trajectories(unit.work))
        with self._answers.fetched(self._keys(trajectories)):
            for lease, trajectory in zip(unit.leases, trajectories, strict=True):
                judged.append(self._portal.call(self._judge_or_end, trajectory, lease))
                calls += sum(len(step.calls) for step in trajectory.steps)
        lacking = tuple(self._bench.context.registry.unavailable) if self.settings.fleet is not None else ()
        return UnitResult(self._mailbox.name, tuple(judged), calls, lacking)

    def _keys(self, trajectories: Iterable[Trajectory]) -> Iterator[str]:
        """Of the stored answers that they will ask for, where the command has some."""
        context = self._bench.context
        if self.settings.stored_answers:
            for trajectory in map(context.as_named_here, trajectories):
                for key in expected_keys(trajectory, context.registry, self.settings.facts):
                    yield from (key, stderr_key(key))

    async def _judge_or_end(self, original: Trajectory, lease: Lease) -> JudgedTrajectory:
        with CancelScope() as scope:
            self._scopes.add(scope)
            try:
                return await self._judge(original, lease)
            finally:
                self._scopes.discard(scope)
        raise LeaseLostError("the run was ended")

    async def _judge(self, original: Trajectory, lease: Lease) -> JudgedTrajectory:
        bench, options = self._bench, self.settings.options
        checkpoint = RemoteCheckpoint(lease, self._mailbox, stored=options.offline)
        with redacting(bench.redactor):
            replayed, results = await replay_trials(
                bench.context.as_named_here(original),
                bench.context,
                options,
                (checkpoint, TrialOfLease(checkpoint)),
                lambda: self._count(lease),
            )
            rows = bench.rows.rows(original, self.settings.policy, replayed, results, bench.keep_findings)
        return JudgedTrajectory(lease.row, rows, len(checkpoint.not_repeated), tuple(checkpoint.answers.items()))

    def _count(self, lease: Lease) -> None:
        """Tell now and then how many calls have their verdict; offline the results tell it soon enough."""
        if self.settings.fleet is None:
            return
        self._uncounted += 1
        now = time.monotonic()
        if now - self._told >= _TELL_EVERY:
            self._mailbox.tell("calls", (self._mailbox.name, lease.row, lease.attempt, self._uncounted))
            self._uncounted, self._told = 0, now

    # --- answers

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[_Bench]:
        settings = self.settings
        if settings.fleet is None:
            registry = settings.registry or Registry()
            backend = StoredBackend(self._answers.get if settings.stored_answers else {}, settings.facts)
            yield self._bench_of(backend, registry, Redactor(settings.secrets))
            return
        fleet = Fleet.model_validate(dict(settings.fleet))
        redactor = Redactor(dict.fromkeys((*settings.secrets, *fleet.secrets())))
        with redacting(redactor), _logs(settings.logs, self._mailbox.name) as logs:
            async with Interpreter(
                fleet, names=settings.names, logs=logs, instances=settings.options.instances
            ) as interpreter:
                await interpreter.start()
                servers = {name: self._here(server) for name, server in interpreter.servers.items()}
                registry = registry_of(servers, fleet.local_tools, tuple(fleet.servers), complete=True).model_copy(
                    update={"tools_complete": interpreter.tools_complete}
                )
                async with LiveBackend(interpreter, settings.facts, settings.options.allow_effects) as live:
                    yield self._bench_of(live, registry, redactor)

    def _here(self, server: Server) -> Server:
        """The server; where it did not start, its error says on which worker."""
        if server.error is None:
            return server
        return server.model_copy(update={"error": f"{server.error} (on the worker {self._mailbox.name})"})

    def _bench_of(self, backend: AnswerBackend, registry: Registry, redactor: Redactor) -> _Bench:
        settings = self.settings
        inputs = InputCalls({}, registry)
        context = ReplayContext(backend, registry, settings.rules, settings.dispatchers, settings.policy, inputs)
        rows = RowMaker(redactor, registry.servers.values())
        return _Bench(context, rows, FindingStore(rows.run), redactor)


@contextmanager
def _logs(directory: str | None, worker: str) -> Iterator[Path]:
    if directory is not None:
        yield Path(directory, f"worker-{worker}")
        return
    with TemporaryDirectory(prefix=f"mcp-replay-{os.getpid()}-") as made:
        yield Path(made)
