"""`replay classify` on several processes or machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from replay.cluster import worker as on_worker
from replay.cluster.desk import Desk
from replay.cluster.judging import Judging, live_jobs, stored_jobs
from replay.cluster.messages import Settings, WorkerReport
from replay.cluster.pool import Pool
from replay.diagnosis.phrasing import counted
from replay.errors import NoServerReachedError
from replay.formats import ResultsFile
from replay.interpreter import Fleet
from replay.records import Answer, FleetFacts, Server
from replay.replayer import InputCalls, ReplayContext, StoredBackend
from replay.replayer.one_process import ReplayAll
from replay.replayer.options import Options, Progress
from replay.replayer.policy import facts_of, policy_of, registry_of, rules_of
from replay.replayer.to_do import servers_to_start, unfinished
from replay.runfile import Run
from replay.runfile.effects_journal import absolute_path
from replay.runfile.shipped_rows import drop_reserved_rows


def on_workers(pool: Pool, fleet: Fleet | None, answers: Callable[[str], Answer | None] | None = None) -> ReplayAll:
    """Who replays for `classify_stored`: the workers of a pool.

    Args:
        pool: of workers.
        fleet: whose secrets are taken out; may be None.
        answers: where stored answers come from, by key; by default the run.
    """

    async def replay_all(
        run: Run, files: list[ResultsFile], context: ReplayContext, options: Options, progress: Progress
    ) -> None:
        settings = Settings(
            options=_for_workers(options),
            facts=run.facts() or (facts_of(fleet) if fleet else FleetFacts()),
            dispatchers=context.dispatchers,
            policy=context.policy,
            secrets=fleet.secrets() if fleet else (),
            rules=context.rules,
            registry=context.registry,
            stored_answers=answers is not None or run.has_answers(),
        )
        judging = _judging(pool, run, context, settings, options, progress, answers or run.stored_answer)
        try:
            await pool.do(stored_jobs(judging, files))
        finally:
            drop_reserved_rows(run)

    return replay_all


async def classify_live_on_workers(
    pool: Pool,
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet,
    options: Options,
    *,
    logs: Path,
    progress: Progress,
) -> None:
    """Re-issue the calls of the files through servers that the workers start, and keep the verdicts in the run.

    Raises:
        NoServerReachedError: the trajectories name servers, and no worker could start one of them.
        ClusterError: the scheduler is gone.
    """
    if pool.place.is_local:
        fleet.check_template()
    facts = facts_of(fleet)
    policy = policy_of(facts, options, fleet, live=True)
    names = tuple(servers_to_start(run, files, fleet, options, policy, progress))
    rules = rules_of(fleet, options)
    settings = Settings(
        options=_for_workers(options),
        facts=facts,
        dispatchers=fleet.dispatchers,
        policy=policy,
        secrets=fleet.secrets(),
        rules=rules,
        fleet={**fleet.model_dump(), "path": fleet.directory / fleet.path.name},
        names=names,
        logs=absolute_path(str(logs)) if pool.place.is_local else None,
    )
    inputs = {absolute_path(file.path): file for file in files}
    nothing = StoredBackend({}, facts)
    # the workers ask for the settings before the servers are known
    first = Desk(run, settings, stored=run.stored_answer, on_calls=lambda worker, count: None)
    pool.listen(first.handle)
    progress.stage = f"starting {counted(len(names), 'server')} on {counted(len(pool.workers), 'worker')}"
    reports: list[WorkerReport] = await pool.on_each(on_worker.start, pool.run)
    servers = servers_of(reports, progress)
    progress.stage = None
    run.save_servers(servers.values())
    run.save_facts(facts)
    run.save_trials(options.trials)
    if names and all(server.error is not None for server in servers.values()):
        reasons = "; ".join(f"{server.name}: {server.error}" for server in servers.values())
        raise NoServerReachedError(f"no server could be started ({reasons})")
    registry = registry_of(servers, fleet.local_tools, tuple(fleet.servers), complete=True)
    context = ReplayContext(nothing, registry, rules, fleet.dispatchers, policy, InputCalls(inputs, registry))
    judging = _judging(pool, run, context, settings, options, progress, run.stored_answer)
    for report in reports:
        judging.note_lacking(report.worker, (server.name for server in report.servers if server.error is not None))
    await pool.do(live_jobs(judging, unfinished(run, files, policy, options, progress)))
    stopped = (await pool.everywhere(on_worker.stop, pool.run)).values()
    run.save_servers(servers_of([report for report in stopped if report is not None], progress, servers).values())
    if progress.not_repeated:
        progress.notes.append(
            f"{progress.not_repeated} calls with effects were sent before and are not sent again; they count with the "
            "answers of then (another run file, or --fresh, sends them)"
        )


def _for_workers(options: Options) -> Options:
    """What of the options a worker must know."""
    return Options(
        instances=options.instances,
        only=options.only,
        trials=options.trials,
        allow_effects=options.allow_effects,
        rebinding=options.rebinding,
        offline=options.offline,
    )


def _judging(
    pool: Pool,
    run: Run,
    context: ReplayContext,
    settings: Settings,
    options: Options,
    progress: Progress,
    stored: Callable[[str], Answer | None],
) -> Judging:
    def count(worker: str, calls: int) -> None:
        progress.done += calls
        progress.by_worker[worker] = progress.by_worker.get(worker, 0) + calls

    desk = Desk(run, settings, stored=stored, on_calls=count)
    pool.listen(desk.handle)
    return Judging(
        run,
        context,
        options,
        progress,
        desk,
        pool.run,
        by_path=True,
        journal_asked=run.journal().has_entries(),
    )


def servers_of(
    reports: Iterable[WorkerReport], progress: Progress, known: dict[str, Server] | None = None
) -> dict[str, Server]:
    """Each server as the first worker has it that could start it; what a worker could not start is noted.

    Args:
        reports: of the workers.
        progress: gets the notes.
        known: servers as they were found before.
    """
    servers = dict(known or {})
    for report in sorted(reports, key=lambda one: one.worker):
        for server in report.servers:
            if server.name not in servers or servers[server.name].error is not None:
                servers[server.name] = server
        notes = [f"{one.name}: could not be started: {one.error}" for one in report.servers if one.error is not None]
        progress.notes += [note for note in (*notes, *report.notes) if note not in progress.notes]
    return servers
