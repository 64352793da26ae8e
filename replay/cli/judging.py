"""The judging that `classify` does: in this process, on workers or from a cassette, with progress and notes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from replay.cli.options import echo_err

if TYPE_CHECKING:
    from replay.cluster import Place
    from replay.cluster.pool import Pool
    from replay.formats import ResultsFile
    from replay.interpreter import Fleet
    from replay.records import Answer
    from replay.replayer.executor import Executor
    from replay.replayer.plan import Options, Progress
    from replay.runfile import Run


async def judge_with_progress(
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet | None,
    options: Options,
    cassette: Path | None,
    place: Place | None,
) -> None:
    """Judge the calls of the files, showing how far it is, and say what was noticed.

    Args:
        run: open for writing.
        files: as they were opened.
        fleet: the servers; without it the recordings judge.
        options: as on the command line.
        cassette: whose answers judge, if one was named.
        place: where the workers are; None for this process alone.
    """
    from replay.cli.progress import shown_progress
    from replay.diagnosis.phrasing import counted
    from replay.diagnosis.stored_findings import FindingStore
    from replay.replayer.plan import Progress
    from replay.runfile import withheld_servers

    progress = Progress()
    findings = FindingStore(run)
    if place is None:
        options = replace(options, on_done=findings.keep)
    async with shown_progress(progress):
        await _replay(run, files, fleet, options, cassette, place, progress)
    if place is not None:
        findings.keep_missing()
    for note in progress.notes:
        echo_err(f"note: {note}")
    for server in run.servers().values():
        for note in server.notes:
            echo_err(f"note: {server.name}: {note}")
    for name, count in ({} if options.offline else withheld_servers(run)).items():
        echo_err(
            f"note: {counted(count, 'call')} of {name} not re-issued, since it may change something; "
            f"re-issue with --allow-effects {name}"
        )
    if progress.retried:
        echo_err(
            f"note: {counted(progress.retried, 'call')} without a verdict from before: tried again, as the cause may "
            "be gone (--keep-inconclusive leaves them)"
        )
    if progress.kept:
        echo_err(f"note: {progress.kept} of {progress.total} calls had their verdict from before (--fresh starts over)")


async def _replay(
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet | None,
    options: Options,
    cassette: Path | None,
    place: Place | None,
    progress: Progress,
) -> None:
    """Replay in this process, or on the workers of a place."""
    from replay.cli.progress import echo_server_event
    from replay.replayer.classifier import classify_live, classify_stored

    async with AsyncExitStack() as stack:
        pool = None
        if place is not None:
            from replay.cluster.pool import open_pool

            progress.stage = "starting workers" if place.is_local else f"connecting to {place}"
            pool = await stack.enter_async_context(open_pool(place, lambda text: echo_err(f"note: {text}")))
            progress.stage = None
        logs = run.path.with_name(f"{run.path.stem}.logs")
        if cassette is not None:
            await _classify_cassette(run, files, fleet, options, cassette, progress, pool)
        elif options.offline or fleet is None:
            executor = _on_workers(pool, fleet)
            await classify_stored(run, files, options, progress=progress, fleet=fleet, executor=executor)
        elif pool is not None:
            from replay.cluster.classify import classify_live_on_workers

            await classify_live_on_workers(pool, run, files, fleet, options, logs=logs, progress=progress)
        else:
            on_event = echo_server_event
            await classify_live(run, files, fleet, options, logs=logs, progress=progress, on_event=on_event)


def _on_workers(
    pool: Pool | None, fleet: Fleet | None, answers: Callable[[str], Answer | None] | None = None
) -> Executor | None:
    if pool is None:
        return None
    from replay.cluster.classify import OnWorkers

    return OnWorkers(pool, fleet, answers)


async def _classify_cassette(
    run: Run,
    files: list[ResultsFile],
    fleet: Fleet | None,
    options: Options,
    path: Path,
    progress: Progress,
    pool: Pool | None,
) -> None:
    from replay.replayer.cassette import read_cassette
    from replay.replayer.classifier import classify_stored

    cassette = read_cassette(path)
    for warning in cassette.warnings(fleet):
        echo_err(f"note: {warning}")
    answers = cassette.matching(fleet).get
    await classify_stored(
        run,
        files,
        options,
        progress=progress,
        fleet=fleet,
        facts=cassette.facts,
        servers=cassette.servers,
        answers=answers,
        executor=_on_workers(pool, fleet, answers),
    )
