"""The judging that `classify` does: in this process, on workers or from a cassette, with progress and notes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.cli.terminal import echo_err

if TYPE_CHECKING:
    from replay.errors import FormatError
    from replay.formats import FilesOpened
    from replay.formats.results_file import FileSummary, ResultsFile, UnopenedFile
    from replay.interpreter import Fleet
    from replay.replayer.judging import Source
    from replay.replayer.plan import Options, Progress
    from replay.replayer.pool import Place
    from replay.runfile import Run


class InputFiles:
    """The files of a command line, and what opening them shows.

    Args:
        files: as they were typed.
        names: the pattern of `--names`.
        since: the time of `--since`, as `utc` writes it.
    """

    def __init__(self, files: tuple[Path, ...], names: str | None, since: str = "") -> None:
        from replay.formats import FilesOpened, files_of
        from replay.formats.file_names import FileNames

        self.broken: list[FormatError] = []
        """What is wrong with those that could not be read."""
        self.silent: list[str] = []
        """Of those that gave no call although they speak of calls."""
        self.paths: list[str] = []
        """Of those that could be read."""
        self._calls = 0
        self._opened: FilesOpened = FilesOpened(self._note_broken, _note)
        self._sources = list(files_of(files, FileNames(names), self._note_broken, _note, since))

    def _note_broken(self, error: FormatError) -> None:
        self.broken.append(error)
        echo_err(f"replay: {error}")

    def opened(self, source: Source, file: FileSummary) -> None:
        """Tell what is odd about a file."""
        self._opened.note(_source(source), file)
        self.paths.append(file.path)
        self.silent += [file.path] if file.signs else []
        self._calls += file.calls
        for warning in file.warnings:
            _note(warning)
        if not file.calls:
            _note(f"{file.path}: no call in it ({file.format})")

    def refused(self, source: Source, error: FormatError) -> None:
        """Tell that a file cannot be read; the others go on."""
        self._opened.refuse(_source(source), error)

    def open_all(self) -> list[ResultsFile]:
        """The files, looked through: who starts servers must know which ones they name."""
        from replay.errors import FormatError
        from replay.formats.results_file import Room, look_through

        room, files = Room(), []
        for source in self._sources:
            try:
                file = look_through(*source, room)
            except FormatError as error:
                self.refused(source, error)
            else:
                self.opened(source, file.summary)
                files.append(file)
        self.check()
        return files

    def sources(self) -> list[Source]:
        """The files, to be looked through and judged in one go; those before the first that can be read are told of.

        Raises:
            InputError: none can be read.
        """
        from replay.errors import FormatError
        from replay.formats.results_file import look_through

        for number, source in enumerate(self._sources):
            try:
                first = look_through(*source)
            except FormatError as error:
                self.refused(source, error)
            else:
                return [first, *self._sources[number + 1 :]]
        self.check()
        return []

    def check(self) -> None:
        """See whether there is anything to judge, once all files were opened.

        Raises:
            InputError: there is not.
        """
        from replay.errors import InputError

        self._opened.finish()
        if not self.paths:
            raise InputError("", "no file could be read; see above")
        if not self._calls:
            raise InputError("", "no call was found in any file; see above")


def _note(text: str) -> None:
    echo_err(f"note: {text}")


def _source(source: Source) -> UnopenedFile:
    from replay.formats.results_file import ResultsFile

    return source.source if isinstance(source, ResultsFile) else source


async def judge_with_progress(
    run: Run,
    inputs: InputFiles,
    files: list[ResultsFile] | list[Source],
    fleet: Fleet | None,
    options: Options,
    cassette: Path | None,
    place: Place | None,
) -> None:
    """Judge the calls of the files, showing how far it is, and say what was noticed.

    Args:
        run: open for writing.
        inputs: told what becomes of the files.
        files: those that are judged; opened where servers are asked.
        fleet: the servers; without it the recordings judge.
        options: as on the command line.
        cassette: whose answers judge, if one was named.
        place: where the workers are; None for this process alone.
    """
    from replay.cli.progress import shown_progress
    from replay.diagnosis.diagnose import FindingStore
    from replay.diagnosis.phrasing import counted
    from replay.replayer.plan import Progress
    from replay.runfile import withheld_servers

    progress = Progress()
    findings = FindingStore(run)
    if place is None:
        options = replace(options, on_done=findings.keep)
    async with shown_progress(progress):
        await _replay(run, inputs, files, fleet, options, cassette, place, progress)
    inputs.check()
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
    inputs: InputFiles,
    files: list[ResultsFile] | list[Source],
    fleet: Fleet | None,
    options: Options,
    cassette: Path | None,
    place: Place | None,
    progress: Progress,
) -> None:
    """Replay in this process, or on the workers of a place."""
    from replay.cli.progress import echo_server_event
    from replay.diagnosis.diagnose import FindingStore
    from replay.formats.results_file import ResultsFile
    from replay.replayer.classifier import classify_live, classify_stored

    async with AsyncExitStack() as stack:
        pool = None
        if place is not None:
            from replay.replayer.sharing import open_pool

            progress.stage = "starting workers" if place.is_local else f"connecting to {place}"
            pool = await stack.enter_async_context(open_pool(place, _note))
            progress.stage = None
        if not options.offline and fleet is not None:
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
            return
        stored = _of_cassette(cassette, fleet) if cassette is not None else {}
        executor = None
        if pool is not None:
            from replay.replayer.workers import OnWorkers

            executor = OnWorkers(pool, fleet, answers=stored.get("answers"), finder=FindingStore)
        await classify_stored(
            run, files, options, progress=progress, fleet=fleet, listener=inputs, executor=executor, **stored
        )


def _of_cassette(path: Path, fleet: Fleet | None) -> dict[str, Any]:
    """What `classify_stored` must know of a cassette."""
    from replay.replayer.cassette import read_cassette

    cassette = read_cassette(path)
    for warning in cassette.warnings(fleet):
        _note(warning)
    return {"facts": cassette.facts, "servers": cassette.servers, "answers": cassette.matching(fleet).get}
