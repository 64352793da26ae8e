"""The classifier of a run: it plans what is to be judged, hands that to an executor, and writes what comes back.

The same, whatever executes it: this process, worker processes of this machine, or those of a Dask cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from replay.errors import NoServerReachedError
from replay.formats.results_file import ResultsFile
from replay.interpreter import Fleet, ServerEvent
from replay.records import Answer, FleetFacts, Server
from replay.replayer.backends import StoredBackend
from replay.replayer.executor import Here, servers_here
from replay.replayer.journal import InputCalls
from replay.replayer.plan import (
    FileListener,
    Judging,
    Options,
    Progress,
    ReplayContext,
    Source,
    facts_of,
    live_registry,
    policy_of,
    registry_of,
    rules_of,
    servers_to_start,
    stored_facts,
    unfinished,
)
from replay.runfile import Run
from replay.runfile.effects_journal import absolute_path

if TYPE_CHECKING:
    from replay.replayer.messages import Finder
    from replay.replayer.pool import Pool
    from replay.replayer.workers import OnWorkers


_UNPLACED: Final = (
    "{} calls with effects are like those that an earlier run sent for {} not there any more ({}); they may be the "
    "same, renamed and edited, and are not sent (another run file, or --fresh, sends them)"
)
_NOT_REPEATED: Final = (
    "{} calls with effects were sent by an earlier run and are not sent again; they "
    "count with the answers of then (another run file, or --fresh, sends them)"
)


async def classify_live(  # noqa: PLR0913
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet,
    options: Options,
    *,
    logs: Path,
    progress: Progress,
    on_event: Callable[[ServerEvent], None] | None = None,
    pool: Pool | None = None,
    finder: Callable[[Run], Finder] | None = None,
) -> None:
    """Re-issue the calls of the files through the fleet's servers, and keep the verdicts in the run.

    Args:
        run: gets the verdicts.
        files: what to judge.
        fleet: the servers.
        options: as on the command line.
        logs: directory for the servers' stderr.
        progress: is kept up to date.
        on_event: told what happens to the servers of this process.
        pool: workers that do it; by default this process does.
        finder: makes what finds, on a worker, what trajectories show.

    Raises:
        NoServerReachedError: the trajectories name servers, and none of them started.
        ClusterError: the workers are gone.
    """
    if pool is None or pool.location.is_local:
        fleet.check_template()
    facts = facts_of(fleet)
    policy = policy_of(facts, options, fleet, live=True)
    names = servers_to_start(run, files, fleet, options, policy, progress)
    started: AbstractAsyncContextManager[Here | OnWorkers]
    if pool is None:
        started = servers_here(fleet, facts, names, options, logs=logs, progress=progress, on_event=on_event)
    else:
        from replay.replayer.workers import servers_on_workers

        started = servers_on_workers(
            pool, run, fleet, facts, names, options, policy, logs=logs, progress=progress, finder=finder
        )
    async with started as executor:
        servers = dict(executor.servers)
        run.save_servers(servers.values())
        run.save_facts(facts)
        run.save_trials(options.trials)
        _check_any_started(names, servers)
        registry = live_registry(fleet, servers, executor.tools_complete)
        inputs = InputCalls({absolute_path(file.path): file for file in files}, registry)
        _warn_of_unplaced(run, inputs, progress)
        backend, rules = executor.backend, rules_of(fleet, options)
        context = ReplayContext(backend, registry, rules, facts.dispatchers, policy, inputs)
        judging = Judging(run, context, options, progress)
        await executor.replay(judging, unfinished(run, files, policy, options, progress))
    run.save_servers(executor.servers.values())
    if progress.not_repeated:
        progress.notes.append(_NOT_REPEATED.format(progress.not_repeated))


def _warn_of_unplaced(run: Run, inputs: InputCalls, progress: Progress) -> None:
    """Say of which trajectories that sent calls with effects no file has any."""
    if gone := inputs.find_unplaced(run.journal().entries()):
        of = "a trajectory that is" if len(gone) == 1 else f"{len(gone)} trajectories that are"
        progress.warn(_UNPLACED.format(len(inputs.unplaced), of, f"{gone[0].path}: {gone[0].trajectory}"))


def _check_any_started(names: Collection[str], servers: Mapping[str, Server]) -> None:
    if names and all(server.error is not None for server in servers.values()):
        reasons = "; ".join(f"{server.name}: {server.error}" for server in servers.values())
        raise NoServerReachedError(f"no server could be started ({reasons})")


async def classify_stored(  # noqa: PLR0913
    run: Run,
    files: Iterable[Source],
    options: Options,
    *,
    progress: Progress,
    fleet: Fleet | None = None,
    facts: FleetFacts | None = None,
    servers: Mapping[str, Server] | None = None,
    answers: Callable[[str], Answer | None] | None = None,
    listener: FileListener | None = None,
    executor: Here | OnWorkers | None = None,
) -> None:
    """Judge the calls of files by stored and recorded answers; no server is started.

    Args:
        run: gets the verdicts, and gives the stored answers where `answers` does not.
        files: what to judge; those that are not opened are looked through and judged in one go.
        options: as for a live run; every call is judged anew.
        progress: is kept up to date.
        fleet: its rules and local tools count; may be None.
        facts: of the fleet that gave the answers; by default what the run keeps, else the fleet's own.
        servers: what is known of them; by default what the run keeps.
        answers: where stored answers come from, by key; by default the run.
        listener: told what becomes of the files; by default one that cannot be read ends all.
        executor: who judges; by default this process.
    """
    known = run.servers() if servers is None else dict(servers)
    facts = facts or stored_facts(run, fleet)
    local_tools = fleet.local_tools if fleet else facts.local_tools
    names = tuple(dict.fromkeys([*(fleet.servers if fleet else ()), *facts.servers, *known]))
    rules = rules_of(fleet, options)
    registry = registry_of(known, local_tools, names, complete=bool(known))
    if servers is not None:
        run.save_servers(known.values())
        run.save_facts(facts)
    context = ReplayContext(
        StoredBackend(answers or run.stored_answer, facts),
        registry,
        rules,
        fleet.dispatchers if fleet else facts.dispatchers,
        policy_of(facts, options, fleet, live=False),
        InputCalls({}, registry),
    )
    sources = list(files)
    progress.files = len(sources)
    judging = Judging(run, context, options, progress, listener)
    await (executor or Here()).judge(judging, sources)
