"""From results files to a run: what `replay classify` does, for the command line and for callers from Python."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import anyio

from replay.errors import NoServerReachedError, ReplayError
from replay.formats import ResultsFile
from replay.interpreter import Fleet, Interpreter, ServerEvent
from replay.outcomes import Registry
from replay.processes import modules_not_collected, spare_descriptors
from replay.records import Answer, CallResult, FleetFacts, RuleSpec, Server, ServerFacts, Trajectory, digest
from replay.records.dispatch import with_calls, without_dispatcher
from replay.redaction import redacting
from replay.replayer import (
    AnswerBackend,
    InputCalls,
    LiveBackend,
    ReplayContext,
    ReplayManner,
    StoredBackend,
    replay_trials,
    servers_named,
)
from replay.replayer.verdicts import fault_in_words, verdict_of_replay_fault
from replay.runfile import Run, TrajectoryState
from replay.runfile.checkpoint import RunCheckpoint, TrialCheckpoint
from replay.runfile.effects_journal import Origin, absolute_path
from replay.runfile.file_contents import follow_files

_DESCRIPTORS_OF_JOB = 6
_DESCRIPTORS_OF_SERVER = 16
"""Pipes, process handle and log of a server, and the pipe on which its start reports."""
_FLUSH_EVERY = 0.05
"""Seconds that a verdict may wait to be committed; a call that cannot be sent again does not wait."""


@dataclass(frozen=True)
class Options:
    """How a run is made."""

    jobs: int = 4
    """Trajectories side by side."""
    instances: int = 1
    """Processes of each server without state."""
    only: str | None = None
    """Glob over `server/tool`; other calls are not judged."""
    limit: int | None = None
    """At most so many trajectories of each file."""
    trials: int = 1
    allow_effects: frozenset[str] = frozenset()
    rebinding: bool = True
    offline: bool = False
    keep_inconclusive: bool = False
    """Leave what the environment kept from its verdict; by default such calls are tried again."""
    on_done: Callable[[int], None] | None = None
    """Is told the run's row of each trajectory as soon as all of its calls have their verdicts."""

    @property
    def manner(self) -> ReplayManner:
        """What of it concerns a single trajectory."""
        return ReplayManner(trials=self.trials, rebinding=self.rebinding, wanted=self.wanted)

    def wanted(self, name: str) -> bool:
        """Whether a `server/tool` is to be judged."""
        return self.only is None or fnmatchcase(name, self.only)


@dataclass
class Progress:
    """How far a run is; the front end reads it as often as it likes."""

    total: int = 0
    done: int = 0
    kept: int = 0
    """Of the done ones, those that had their verdict from an earlier run."""
    retried: int = 0
    """Calls of an earlier run that the environment had kept from their verdict, and that are tried again."""
    not_repeated: int = 0
    """Calls with effects that an earlier run sent; they count with the answers of then."""
    servers: dict[str, ServerEvent] = field(default_factory=dict)
    stage: str | None = None
    """What happens before the first call is judged; None where calls are judged."""
    by_worker: dict[str, int] = field(default_factory=dict)
    """Calls that each worker judged, where there are several."""
    given_again: int = 0
    """Trajectories that were given to another worker, since theirs was lost."""
    notes: list[str] = field(default_factory=list)
    """What a person should know when it is done."""


ReplayAll = Callable[[Run, list[ResultsFile], ReplayContext, Options, Progress], Awaitable[None]]
"""Replays the unfinished trajectories of files and keeps their verdicts in the run."""


def facts_of(fleet: Fleet) -> FleetFacts:
    """What must be kept of a fleet to read its answers again."""
    return FleetFacts(
        servers={
            name: ServerFacts(
                digest=fleet.digest(name),
                stateful=spec.state == "trajectory",
                in_workspace=spec.state == "trajectory" or spec.uses_workspace,
            )
            for name, spec in fleet.servers.items()
        },
        local_tools=fleet.local_tools,
        dispatchers=fleet.dispatchers,
        template=fleet.workspace.template,
    )


async def classify_live(
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet,
    options: Options,
    *,
    logs: Path,
    progress: Progress,
    on_event: Callable[[ServerEvent], None] | None = None,
) -> None:
    """Re-issue the calls of the files through the fleet's servers, and keep the verdicts in the run.

    Raises:
        NoServerReachedError: the trajectories name servers, and none of them started.
    """
    fleet.check_template()
    facts = facts_of(fleet)
    policy = policy_of(facts, options, fleet, live=True)
    names = servers_to_start(run, files, fleet, options, policy, progress)

    def note(event: ServerEvent) -> None:
        if event.trajectory is None:
            progress.servers[event.server] = event
        if on_event is not None:
            on_event(event)

    async with Interpreter(fleet, names=names, logs=logs, on_event=note, instances=options.instances) as interpreter:
        await interpreter.start()
        servers = interpreter.servers
        run.save_servers(servers.values())
        run.save_facts(facts)
        run.save_trials(options.trials)
        if names and all(server.error is not None for server in servers.values()):
            reasons = "; ".join(f"{server.name}: {server.error}" for server in servers.values())
            raise NoServerReachedError(f"no server could be started ({reasons})")
        registry = registry_of(servers, fleet.local_tools, tuple(fleet.servers), complete=True).model_copy(
            update={"tools_complete": interpreter.tools_complete}
        )
        rules = {name: spec.rules for name, spec in fleet.servers.items()}
        async with LiveBackend(interpreter, facts, options.allow_effects) as backend:
            context = _context(backend, registry, rules, facts.dispatchers, policy, files)
            await _replay_all(run, files, context, _affordable(options, servers.values(), progress), progress)
            progress.notes += [f"{trajectory}: {note}" for note, trajectory in backend.notes.items()]
        if progress.not_repeated:
            progress.notes.append(
                f"{progress.not_repeated} calls with effects were sent by an earlier run and are not sent again; they "
                "count with the answers of then (another run file, or --fresh, sends them)"
            )
        run.save_servers(interpreter.servers.values())


async def classify_stored(  # noqa: PLR0913
    run: Run,
    files: list[ResultsFile],
    options: Options,
    *,
    progress: Progress,
    fleet: Fleet | None = None,
    facts: FleetFacts | None = None,
    servers: Mapping[str, Server] | None = None,
    answers: Callable[[str], Answer | None] | None = None,
    replay_all: ReplayAll | None = None,
) -> None:
    """Judge the calls of the files by stored and recorded answers; no server is started.

    Args:
        run: gets the verdicts, and gives the stored answers where `answers` does not.
        files: what to judge.
        options: as for a live run; every call is judged anew.
        progress: is kept up to date.
        fleet: its rules and local tools count; may be None.
        facts: of the fleet that gave the answers; by default what the run keeps, else the fleet's own.
        servers: what is known of them; by default what the run keeps.
        answers: where stored answers come from, by key; by default the run.
        replay_all: who replays the trajectories; by default this process.
    """
    known = run.servers() if servers is None else dict(servers)
    facts = facts or run.facts() or (facts_of(fleet) if fleet else FleetFacts())
    local_tools = fleet.local_tools if fleet else facts.local_tools
    names = tuple(dict.fromkeys([*(fleet.servers if fleet else ()), *facts.servers, *known]))
    rules = {name: spec.rules for name, spec in fleet.servers.items()} if fleet else {}
    registry = registry_of(known, local_tools, names, complete=facts is not None and bool(known))
    backend = StoredBackend(answers or run.stored_answer, facts)
    policy = policy_of(facts, options, fleet, live=False)
    if servers is not None:
        run.save_servers(known.values())
        run.save_facts(facts)
    progress.total = sum(_count(file, options) for file in files)
    progress.notes += follow_files(run, files)
    run.forget_verdicts([file.path for file in files])
    dispatchers = fleet.dispatchers if fleet else facts.dispatchers
    context = _context(backend, registry, rules, dispatchers, policy, files)
    with modules_not_collected():
        await (replay_all or _replay_all)(run, files, context, options, progress)


def _context(
    backend: AnswerBackend,
    registry: Registry,
    rules: Mapping[str, tuple[RuleSpec, ...]],
    dispatchers: tuple[str, ...],
    policy: str,
    files: Iterable[ResultsFile],
) -> ReplayContext:
    input_calls = InputCalls({absolute_path(file.path): file for file in files}, registry)
    return ReplayContext(backend, registry, rules, dispatchers, policy, input_calls)


def _affordable(options: Options, servers: Iterable[Server], progress: Progress) -> Options:
    """As many jobs as there may be open files: each trajectory has processes of its own."""
    own = sum(server.state == "trajectory" for server in servers)
    jobs = max(1, spare_descriptors() // (_DESCRIPTORS_OF_JOB + own * _DESCRIPTORS_OF_SERVER))
    if jobs >= options.jobs:
        return options
    progress.notes.append(
        f"{jobs} trajectories at a time instead of {options.jobs}: more files may not be open at once"
    )
    return replace(options, jobs=jobs)


def registry_of(
    servers: Mapping[str, Server], local_tools: tuple[str, ...], names: tuple[str, ...], *, complete: bool
) -> Registry:
    """The tools that exist, as the classification wants to know them."""
    return Registry(
        servers=dict(servers),
        unavailable={name: server.error for name, server in servers.items() if server.error is not None},
        local_tools=local_tools,
        server_names=names,
        complete=complete,
    )


def policy_of(facts: FleetFacts, options: Options, fleet: Fleet | None, *, live: bool) -> str:
    """Digest of all that could change a verdict."""
    rules = (
        {name: [rule.model_dump(mode="json") for rule in spec.rules] for name, spec in fleet.servers.items()}
        if fleet
        else {}
    )
    effects = {name: spec.effects for name, spec in fleet.servers.items()} if fleet else {}
    choices: list[Any] = [options.only, options.trials, sorted(options.allow_effects), options.rebinding]
    return digest([facts.model_dump(mode="json"), rules, effects, choices, live])


def servers_to_start(
    run: Run, files: Iterable[ResultsFile], fleet: Fleet, options: Options, policy: str, progress: Progress
) -> list[str]:
    """The servers that unfinished trajectories name, in the order of the fleet file; counts what there is to do."""
    progress.notes += follow_files(run, files)
    names: set[str] = set()
    for file in files:
        progress.total += _count(file, options)
        for trajectory in _readable(file, options, progress):
            if not run.is_done(trajectory, file=file.path, policy=policy, retry=not options.keep_inconclusive):
                carried = with_calls(trajectory, partial(without_dispatcher, named=fleet.dispatchers))
                names |= servers_named(carried, fleet.servers)
    return [name for name in fleet.servers if name in names]


def _readable(file: ResultsFile, options: Options, progress: Progress) -> Iterator[Trajectory]:
    """The trajectories of a file, up to one that cannot be read although nobody expected it."""
    try:
        yield from islice(file.trajectories(), options.limit)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        note = f"{file.path}: could not be read to its end: {fault_in_words(problem)}"
        if note not in progress.notes:
            progress.notes.append(note)


def _count(file: ResultsFile, options: Options) -> int:
    return sum(islice(file.call_counts, options.limit))


async def _replay_all(
    run: Run, files: list[ResultsFile], context: ReplayContext, options: Options, progress: Progress
) -> None:
    """Replay the trajectories, so many side by side as `options.jobs` says."""
    to_do = unfinished(run, files, context.policy, options, progress)

    async def worker() -> None:
        with redacting(run.redactor):
            for file, trajectory, state in to_do:
                try:
                    await _replay_one(run, file, trajectory, state, context, options, progress)
                except Exception as problem:
                    if _ends_the_run(problem):
                        raise
                    give_up(run, trajectory, state, progress, problem)

    async with anyio.create_task_group() as group:
        group.start_soon(_flush_often, run)
        async with anyio.create_task_group() as workers:
            for _ in range(max(1, options.jobs)):
                workers.start_soon(worker)
        group.cancel_scope.cancel()


def _ends_the_run(problem: BaseException) -> bool:
    """Whether no other trajectory would fare better: the fleet file, a results file or the run file is at fault."""
    if isinstance(problem, BaseExceptionGroup):
        return any(map(_ends_the_run, problem.exceptions))
    return isinstance(problem, ReplayError | sqlite3.Error)


def give_up(run: Run, trajectory: Trajectory, state: TrajectoryState, progress: Progress, problem: Exception) -> None:
    """Note what went wrong with a trajectory, and make each of its calls inconclusive."""
    progress.notes.append(f"{trajectory.id}: could not be replayed: {fault_in_words(problem)}")
    verdict = verdict_of_replay_fault(problem)
    try:
        run.finish(state.row, trajectory, (CallResult(call, verdict) for call in trajectory.calls()))
    except (ValueError, TypeError, RecursionError) as worse:
        progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(worse)}")


async def _flush_often(run: Run) -> None:
    while True:
        await anyio.sleep(_FLUSH_EVERY)
        run.flush()


def unfinished(
    run: Run, files: list[ResultsFile], policy: str, options: Options, progress: Progress
) -> Iterator[tuple[ResultsFile, Trajectory, TrajectoryState]]:
    """What is still to be replayed, in the order of the files; each trajectory is begun in the run."""
    for file in files:
        for trajectory in _readable(file, options, progress):
            retry = not (options.keep_inconclusive or options.offline)
            try:
                state = run.begin(trajectory, file=file.path, format=file.format, policy=policy, retry=retry)
            except (ValueError, TypeError, RecursionError) as problem:
                progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(problem)}")
                continue
            progress.retried += state.retried
            if state.done:
                count = sum(len(step.calls) for step in trajectory.steps)
                progress.done += count
                progress.kept += count
            else:
                yield file, trajectory, state


async def _replay_one(
    run: Run,
    file: ResultsFile,
    trajectory: Trajectory,
    state: TrajectoryState,
    context: ReplayContext,
    options: Options,
    progress: Progress,
) -> None:
    trajectory = context.as_named_here(trajectory)
    ordinals = {call.position: ordinal for ordinal, call in enumerate(trajectory.calls())}
    checkpoint = RunCheckpoint(
        run,
        state,
        ordinals,
        origin=Origin.of(file.path, trajectory),
        still_holds=context.input_calls.still_holds,
        stored=options.offline,
    )
    trajectory, results = await replay_trials(
        trajectory, context, options.manner, (checkpoint, TrialCheckpoint(checkpoint)), progress_counter(progress)
    )
    progress.not_repeated += len(checkpoint.not_repeated)
    run.finish(state.row, trajectory, results, saved=checkpoint.saved)
    if options.on_done is not None:
        _tell(options.on_done, state.row, trajectory, progress)


def _tell(on_done: Callable[[int], None], row: int, trajectory: Trajectory, progress: Progress) -> None:
    """What fails there takes no verdict back."""
    try:
        on_done(row)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as problem:
        progress.notes.append(f"{trajectory.id}: its findings could not be kept: {fault_in_words(problem)}")


def progress_counter(progress: Progress) -> Callable[[], None]:
    """Counts one call more."""

    def count() -> None:
        progress.done += 1

    return count
