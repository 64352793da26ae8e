"""The judging that `classify` does: in this process, on workers or from a cassette, with progress and notes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from replay.cli.terminal import note
from replay.diagnosis.diagnose import FindingStore
from replay.diagnosis.phrasing import counted
from replay.formats.results_file import ResultsFile
from replay.interpreter import Fleet
from replay.runfile import Run, withheld_servers
from replay.runfile.repeated_calls import leave_out_repeated
from replay.runfile.run_inputs import save_unread

if TYPE_CHECKING:
    from replay.cli.input_files import InputFiles
    from replay.replayer.cassette import Cassette
    from replay.replayer.plan import Options, Progress, Source
    from replay.replayer.pool import Pool, WorkerLocation


async def judge_with_progress(
    run: Run,
    inputs: InputFiles,
    files: list[ResultsFile] | list[Source],
    fleet: Fleet | None,
    options: Options,
    cassette: Cassette | None,
    location: WorkerLocation | None,
) -> None:
    """Judge the calls of the files, showing how far it is, and say what was noticed.

    Args:
        run: open for writing.
        inputs: told what becomes of the files.
        files: those that are judged; opened where servers are asked.
        fleet: the servers; without it the recordings judge.
        options: as on the command line.
        cassette: whose answers judge, if one was named.
        location: where the workers are; None for this process alone.
    """
    from replay.cli.progress import echo_server_event, shown_progress
    from replay.replayer.classifier import classify_live
    from replay.replayer.plan import Progress

    progress = Progress(warn=note)
    findings = FindingStore(run)
    if location is None:
        options = replace(options, on_done=findings.keep)
    async with shown_progress(progress), AsyncExitStack() as stack:
        pool = None
        if location is not None:
            from replay.replayer.worker_processes import open_pool

            progress.stage = "starting workers" if location.is_local else f"connecting to {location}"
            pool = await stack.enter_async_context(open_pool(location, note))
            progress.stage = None
        if options.offline or fleet is None:
            await _judge_by_stored_answers(run, inputs, files, fleet, options, cassette, progress, pool)
        else:
            opened = [file for file in files if isinstance(file, ResultsFile)]
            logs = run.path.with_name(f"{run.path.stem}.logs")
            await classify_live(
                run,
                opened,
                fleet,
                options,
                logs=logs,
                progress=progress,
                on_event=echo_server_event,
                pool=pool,
                finder=FindingStore,
            )
    inputs.check()
    leave_out_repeated(run)
    with run.transaction() as db:
        save_unread(db, inputs.unread, inputs.paths)
    if location is not None:
        findings.keep_missing()
    _tell(run, fleet, options, progress)


def _tell(run: Run, fleet: Fleet | None, options: Options, progress: Progress) -> None:
    """Say what was noticed on the way, and what could be done about it."""
    for text in progress.notes:
        note(text)
    for server in run.servers().values():
        for text in server.notes:
            note(f"{server.name}: {text}")
    for name, count in ({} if options.offline else withheld_servers(run)).items():
        if name in options.allow_effects or (fleet is not None and fleet.servers[name].effects == "all"):
            continue  # it may be one like a call that was sent before, which was told of
        note(
            f"{counted(count, 'call')} of {name} not re-issued, since it may change something; "
            f"re-issue with --allow-effects {name}"
        )
    if progress.retried:
        note(
            f"{counted(progress.retried, 'call')} without a verdict from before: tried again, as the cause may "
            "be gone (--keep-inconclusive leaves them)"
        )
    if progress.kept:
        note(f"{progress.kept} of {progress.total} calls had their verdict from before (--fresh starts over)")


async def _judge_by_stored_answers(
    run: Run,
    inputs: InputFiles,
    files: list[ResultsFile] | list[Source],
    fleet: Fleet | None,
    options: Options,
    cassette: Cassette | None,
    progress: Progress,
    pool: Pool | None,
) -> None:
    """Judge by the recorded answers, of which what changed since the run was made, or by those of a cassette."""
    from replay.replayer.classifier import classify_stored
    from replay.replayer.unchanged_files import UnchangedFiles

    for warning in cassette.warnings(fleet) if cassette is not None else ():
        note(warning)
    stored = cassette.evidence(fleet) if cassette is not None else {}
    unchanged = UnchangedFiles(run, fleet, options, inputs) if cassette is None else None
    if unchanged is not None:
        count = counted(len(files), "file")
        files = unchanged.changed(files)
        if unchanged.kept:
            progress.notes.append(
                f"{unchanged.kept} of {count} unchanged: not read again, the verdicts stand (--fresh judges all again)"
            )
        if not files:
            return
    executor = None
    if pool is not None:
        from replay.replayer.workers import OnWorkers

        executor = OnWorkers(pool, fleet, answers=stored.get("answers"), finder=FindingStore)
    listener = unchanged or inputs
    try:
        await classify_stored(
            run, files, options, progress=progress, fleet=fleet, listener=listener, executor=executor, **stored
        )
    finally:
        if unchanged is not None:
            unchanged.keep()
