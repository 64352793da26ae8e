"""Live by the servers of a fleet, or by answers that are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from replay.errors import NoServerReachedError
from replay.formats import ResultsFile
from replay.interpreter import Fleet, Interpreter, ServerEvent
from replay.interpreter.processes import modules_not_collected, spare_descriptors
from replay.outcomes import Registry
from replay.records import Answer, FleetFacts, RuleSpec, Server
from replay.replayer import AnswerBackend, InputCalls, LiveBackend, ReplayContext, StoredBackend
from replay.replayer.one_process import ReplayAll, replay_here
from replay.replayer.options import Options, Progress
from replay.replayer.policy import facts_of, policy_of, registry_of, rules_of
from replay.replayer.to_do import count_calls, servers_to_start
from replay.runfile import Run
from replay.runfile.effects_journal import absolute_path
from replay.runfile.file_contents import follow_files

_DESCRIPTORS_OF_JOB = 6
_DESCRIPTORS_OF_SERVER = 16
"""Pipes, process handle and log of a server, and the pipe on which its start reports."""


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
        rules = rules_of(fleet, options)
        async with LiveBackend(interpreter, facts, options.allow_effects) as backend:
            context = _context(backend, registry, rules, facts.dispatchers, policy, files)
            await replay_here(run, files, context, _affordable(options, servers.values(), progress), progress)
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
    rules = rules_of(fleet, options)
    registry = registry_of(known, local_tools, names, complete=facts is not None and bool(known))
    backend = StoredBackend(answers or run.stored_answer, facts)
    policy = policy_of(facts, options, fleet, live=False)
    if servers is not None:
        run.save_servers(known.values())
        run.save_facts(facts)
    progress.total = sum(count_calls(file, options) for file in files)
    progress.notes += follow_files(run, files)
    run.forget_verdicts([file.path for file in files])
    dispatchers = fleet.dispatchers if fleet else facts.dispatchers
    context = _context(backend, registry, rules, dispatchers, policy, files)
    with modules_not_collected():
        await (replay_all or replay_here)(run, files, context, options, progress)


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
