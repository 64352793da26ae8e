"""The plan of a classification: what is to be done, what verdicts depend on, how far it is, and where they go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

from replay.errors import FormatError
from replay.formats.results_file import FileSummary, ResultsFile, UnopenedFile
from replay.interpreter import Fleet, ServerEvent
from replay.outcomes import Registry
from replay.outcomes.stages import EVERY_SERVER
from replay.records import CallResult, FleetFacts, RuleSpec, Server, ServerFacts, Trajectory, digest
from replay.records.tool_name import with_calls, without_dispatcher
from replay.replayer.backends import AnswerBackend
from replay.replayer.journal import InputCalls
from replay.replayer.recorded_names import AbsentPaths, servers_named, with_fleet_dispatchers, with_fleet_names
from replay.replayer.verdict import fault_in_words, verdict_of_replay_fault
from replay.runfile import Run, TrajectoryState
from replay.runfile.repeated_calls import keep_session_calls

Source = ResultsFile | UnopenedFile
"""A file to judge, looked through already or not."""

_UNKEPT = (ValueError, TypeError, RecursionError)
"""What a trajectory raises that cannot be written."""
_NOTHING_FOUND = (*_UNKEPT, LookupError, AttributeError)


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
    labels: tuple[RuleSpec, ...] = ()
    """What a person said that answers mean, as rules for every server."""
    all_edges: bool = True
    """Find the data edges of every trajectory; else of those with a failed call alone: who reads finds the others."""
    keep_inconclusive: bool = False
    """Leave what the environment kept from its verdict; by default such calls are tried again."""
    on_done: Callable[[int, Trajectory | None], None] | None = None
    """Is told the run's row of each trajectory as soon as all of its calls have their verdicts; see `Run.finish`."""

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
    files: int = 0
    """Files that are judged in one go with being read: until all are, `total` is of those that were."""
    files_read: int = 0
    servers: dict[str, ServerEvent] = field(default_factory=dict)
    stage: str | None = None
    """What happens before the first call is judged; None where calls are judged."""
    by_worker: dict[str, int] = field(default_factory=dict)
    """Calls that each worker judged, where there are several."""
    given_again: int = 0
    """Trajectories that were given to another worker, since theirs was lost."""
    notes: list[str] = field(default_factory=list)
    """What a person should know when it is done."""
    warn: Callable[[str], None] = lambda text: None
    """Is told what a person should know before it begins."""

    def count(self) -> None:
        """One call more has its verdict."""
        self.done += 1

    def count_of_worker(self, worker: str, calls: int) -> None:
        """A worker judged some calls."""
        self.done += calls
        self.by_worker[worker] = self.by_worker.get(worker, 0) + calls

    def file_opened(self, calls: int) -> None:
        """One of the files was read."""
        self.files_read += 1
        self.total += calls


@dataclass(frozen=True)
class ReplayContext:
    """What a run judges by: the tools that exist, and where answers come from."""

    backend: AnswerBackend
    registry: Registry
    rules: Mapping[str, tuple[RuleSpec, ...]]
    dispatchers: tuple[str, ...]
    """Patterns of tools that the fleet names as dispatchers."""
    policy: str
    """Digest of all that could change a verdict; a trajectory judged under another is judged again."""
    input_calls: InputCalls

    def as_named_here(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with its servers and dispatchers as this fleet reads them."""
        named = with_fleet_names(trajectory, self.registry.servers)
        return with_fleet_dispatchers(named, self.registry, self.dispatchers)


class Piece(NamedTuple):
    """A trajectory that is to be replayed."""

    file: str
    """Path of its results file, as it was named."""
    format: str
    trajectory: Trajectory
    state: TrajectoryState | None = None
    """What the run knows of it; None where it is judged anew by stored answers, and begun when it has its verdicts."""


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


def stored_facts(run: Run, fleet: Fleet | None) -> FleetFacts:
    """Of the fleet that gave the answers which a run stores; of the one that is given where the run keeps none."""
    return run.facts() or (facts_of(fleet) if fleet else FleetFacts())


def registry_of(
    servers: Mapping[str, Server],
    local_tools: tuple[str, ...],
    names: tuple[str, ...],
    *,
    complete: bool,
    tools_complete: Callable[[str], bool] | None = None,
) -> Registry:
    """The tools that exist, as the classification wants to know them."""
    return Registry(
        servers=dict(servers),
        unavailable={name: server.error for name, server in servers.items() if server.error is not None},
        local_tools=local_tools,
        server_names=names,
        complete=complete,
        tools_complete=tools_complete,
    )


def live_registry(
    fleet: Fleet, servers: Mapping[str, Server], tools_complete: Callable[[str], bool] | None = None
) -> Registry:
    """The tools of a fleet whose servers were started."""
    names = tuple(fleet.servers)
    return registry_of(servers, fleet.local_tools, names, complete=True, tools_complete=tools_complete)


def rules_of(fleet: Fleet | None, options: Options) -> dict[str, tuple[RuleSpec, ...]]:
    """The user's own rules by server, and the labels for all of them."""
    rules = {name: tuple(spec.rules) for name, spec in fleet.servers.items()} if fleet else {}
    return {**rules, EVERY_SERVER: options.labels} if options.labels else rules


def policy_of(facts: FleetFacts, options: Options, fleet: Fleet | None, *, live: bool) -> str:
    """Digest of all that could change a verdict."""
    rules = {name: [rule.model_dump(mode="json") for rule in own] for name, own in rules_of(fleet, options).items()}
    effects = {name: spec.effects for name, spec in fleet.servers.items()} if fleet else {}
    choices: list[Any] = [options.only, options.trials, sorted(options.allow_effects), options.rebinding]
    return digest([facts.model_dump(mode="json"), rules, effects, choices, live])


def servers_to_start(
    run: Run, files: Iterable[ResultsFile], fleet: Fleet, options: Options, policy: str, progress: Progress
) -> list[str]:
    """The servers that unfinished trajectories name, in the order of the fleet file; counts what there is to do."""
    for file in files:
        progress.notes += run.follow(file.path, file.model, file.ids)
        keep_session_calls(run, file.path, file.ids, file.call_counts, file.call_ids, file.last)
    names: set[str] = set()
    absent = AbsentPaths(fleet)
    for file in files:
        progress.total += count_calls(file, options)
        for trajectory in readable(file, options, progress):
            if not run.is_done(trajectory, file=file.path, policy=policy, retry=not options.keep_inconclusive):
                carried = with_calls(trajectory, partial(without_dispatcher, named=fleet.dispatchers))
                names |= servers_named(carried, fleet.servers)
                absent.add(carried)
    if (warning := absent.note(fleet.path.name)) is not None:
        progress.warn(warning)
    return [name for name in fleet.servers if name in names]


def unfinished(
    run: Run, files: list[ResultsFile], policy: str, options: Options, progress: Progress
) -> Iterator[Piece]:
    """What is still to be replayed, in the order of the files; each trajectory is begun in the run."""
    for file in files:
        for trajectory in readable(file, options, progress):
            retry = not options.keep_inconclusive
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
                yield Piece(file.path, file.format, trajectory, state)


def readable(file: ResultsFile, options: Options, progress: Progress) -> Iterator[Trajectory]:
    """The trajectories of a file, up to one that cannot be read although nobody expected it."""
    try:
        yield from islice(file.trajectories(), options.limit)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        note = f"{file.path}: could not be read to its end: {fault_in_words(problem)}"
        if note not in progress.notes:
            progress.notes.append(note)


def count_calls(file: ResultsFile | FileSummary, options: Options) -> int:
    """The calls of a file that are to be judged."""
    return sum(islice(file.call_counts, options.limit))


def unopened(source: Source) -> UnopenedFile:
    """The file as it was before it was looked through."""
    return source.source if isinstance(source, ResultsFile) else source


class FileListener(Protocol):
    """Is told what becomes of files that are looked through and judged in one go."""

    def opened(self, source: Source, file: FileSummary) -> None:
        """A file was looked through."""

    def refused(self, source: Source, error: FormatError) -> None:
        """A file cannot be read. Raises where the others must not go on."""


@dataclass
class Judging:
    """What the trajectories of a classification share."""

    run: Run
    context: ReplayContext
    options: Options
    progress: Progress
    listener: FileListener | None = None
    """By default a file that cannot be read ends all."""
    _rows: dict[str, list[int]] = field(default_factory=dict)
    """By path, the rows that were reserved for the trajectories of a file that workers judge."""

    # --- files

    def file_opened(self, source: Source, file: FileSummary, number: int | None = None) -> None:
        """Take note of a file that is judged in one go with being read: what the run holds of it follows it.

        Args:
            source: as it was named.
            file: what is in it.
            number: the run's own, where files are not opened in their order; by default the next.
        """
        count = count_calls(file, self.options)
        self.progress.file_opened(count)
        with self.run.transaction():
            self.progress.notes += self.run.follow(file.path, file.model, file.ids)
            self.run.forget_verdicts([file.path])
            keep_session_calls(self.run, file.path, file.ids, file.call_counts, file.call_ids, file.last)
            if number is not None:
                self.run.file_row(file.path, file.model, file.format, number)
        if self.listener is not None:
            self.listener.opened(source, file)

    def file_refused(self, source: Source, error: FormatError) -> None:
        """Take note of a file that cannot be read."""
        self.progress.file_opened(0)
        if self.listener is None:
            raise error
        self.listener.refused(source, error)

    # --- trajectories

    def keep(
        self,
        piece: Piece,
        replayed: Trajectory,
        results: Iterable[CallResult],
        saved: Mapping[str, CallResult] | None = None,
    ) -> None:
        """Write the verdicts of a trajectory, all or none; then its findings, which can be made later too.

        Args:
            piece: the trajectory, as it was read.
            replayed: with its data edges.
            results: its calls, each with its verdict.
            saved: what stands in the run already, by position.
        """
        with self.run.transaction():
            state = piece.state or self.run.begin(
                piece.trajectory, file=piece.file, format=piece.format, policy=self.context.policy, record=False
            )
            kept = self.run.finish(state.row, replayed, results, saved)
        if self.options.on_done is not None:
            try:
                with self.run.transaction():
                    self.options.on_done(state.row, kept)
            except _NOTHING_FOUND as problem:  # what fails there takes no verdict back
                note = f"{replayed.id}: its findings could not be kept: {fault_in_words(problem)}"
                self.progress.notes.append(note)

    def give_up(self, piece: Piece, problem: Exception) -> None:
        """Note what went wrong with a trajectory, and make each of its calls inconclusive."""
        trajectory = piece.trajectory
        self.progress.notes.append(f"{trajectory.id}: could not be replayed: {fault_in_words(problem)}")
        verdict = verdict_of_replay_fault(problem)
        try:
            self.keep(piece, trajectory, (CallResult(call, verdict) for call in trajectory.calls()))
        except _UNKEPT as worse:
            self.progress.notes.append(f"{trajectory.id}: could not be kept: {fault_in_words(worse)}")
