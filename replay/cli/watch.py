"""`replay watch`."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import click

from replay.cli.options import fleet_of, fleet_option, names_option, run_option
from replay.cli.terminal import echo_err
from replay.diagnosis.phrasing import counted
from replay.errors import FormatError, RunFileError, UsageError
from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.formats.results_file import ResultsFile
from replay.interpreter import Fleet

EXAMPLES = """\b
Examples:
  replay watch ~/.claude/projects
  replay watch ~/.codex/sessions --run today.db
  replay browse --run today.db     # in another terminal
"""

SUFFIXES = (".json", ".jsonl", ".ndjson", ".eval")
RESCAN_SECONDS = 2.0
"""How often the folder is looked through where the system tells of no change, as network drives do not."""

Snapshot = dict[Path, tuple[int, int]]
"""Size and time of change of each file."""


@click.command("watch", epilog=EXAMPLES)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@run_option("The run file: made where there is none, else added to.")
@fleet_option
@names_option
@click.option("--offline", is_flag=True, expose_value=False, help="Start no server, as it never does.")
def watch(directory: Path, run_path: Path, fleet_path: Path | None, names: str | None) -> None:
    """Judge the session files of a folder as they come and grow.

    DIR is looked through with its folders: what a coding agent or a benchmark writes there is judged by its recorded
    answers, as `replay classify --offline` does, into the run file, which `replay browse` may have open. A session is
    judged again whenever it has grown. ^C ends it.
    """
    judge = _Judge(run_path, fleet_of(fleet_path), names)

    async def watch_until_stopped() -> None:
        stop = anyio.Event()
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with anyio.create_task_group() as group:
                group.start_soon(_stop_on, signals, stop)
                echo_err(f"watching {directory}; see it with: replay browse --run {run_path}    (^C ends)")
                await follow(directory, judge.files, stop)
                group.cancel_scope.cancel()

    anyio.run(watch_until_stopped)
    calls, files = counted(judge.calls, "call"), counted(len(judge.counts), "file")
    echo_err(f"stopped; {calls} of {files} {'is' if judge.calls == 1 else 'are'} in {run_path}")


async def _stop_on(signals: object, stop: anyio.Event) -> None:
    async for _ in signals:  # type: ignore[attr-defined]  # anyio gives its receiver no public name
        stop.set()
        return


async def follow(directory: Path, judge: Callable[[list[Path]], Awaitable[None]], stop: anyio.Event) -> None:
    """Hand on the files of a folder that are there, and then those that came or changed, until `stop` is set.

    A change wakes it at once; what changed is found by looking through the folder, so that nothing is missed that
    happened before, between or without the system's word.
    """
    from watchfiles import awatch

    known: Snapshot = {}
    known = await _judge_changed(directory, known, judge)
    wakeups = awatch(
        directory,
        stop_event=stop,
        watch_filter=lambda _, path: path.endswith(SUFFIXES),
        rust_timeout=int(RESCAN_SECONDS * 1000),
        yield_on_timeout=True,
    )
    async for _ in wakeups:
        known = await _judge_changed(directory, known, judge)


async def _judge_changed(directory: Path, known: Snapshot, judge: Callable[[list[Path]], Awaitable[None]]) -> Snapshot:
    now = snapshot(directory)
    changed = [path for path, state in now.items() if known.get(path) != state]
    if changed:
        await judge(sorted(changed))
    return now


def snapshot(directory: Path) -> Snapshot:
    """The session files of a folder and its folders as they are now; hidden ones are left out."""
    found: Snapshot = {}
    for folder, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                try:
                    state = path.stat()
                except OSError:
                    continue
                if state.st_size:
                    found[path] = (state.st_size, state.st_mtime_ns)
    return found


class _Judge:
    """Judges files into a run, and says in a line how many calls each has."""

    def __init__(self, run_path: Path, fleet: Fleet | None, names: str | None) -> None:
        self._run_path, self._fleet, self._names = run_path, fleet, FileNames(names)
        self._said: set[str] = set()
        self.counts: dict[str, int] = {}
        """Calls of each file that was judged."""

    @property
    def calls(self) -> int:
        """Of all files."""
        return sum(self.counts.values())

    async def files(self, paths: list[Path]) -> None:
        """Judge these files; one that cannot be read, or is written at this moment, waits for its next change."""
        from replay.cli.browse import judge_recorded

        for path in paths:
            if (results := self._opened(path)) is None:
                continue
            try:
                await judge_recorded([results], self._run_path, self._fleet)
            except RunFileError as error:
                raise UsageError(str(error)) from None
            except FormatError as error:
                self._say(f"{error}")
                continue
            self._tell(results)

    def _opened(self, path: Path) -> ResultsFile | None:
        try:
            return open_file(path, self._names)
        except FormatError as error:
            self._say(f"{path}: not read: {error.message}")
            return None

    def _tell(self, results: ResultsFile) -> None:
        before = self.counts.get(results.path)
        self.counts[results.path] = results.calls
        if before != results.calls:
            more = "" if before is None else f" ({results.calls - before:+})"
            click.echo(f"{results.path}: {counted(results.calls, 'call')}{more}")

    def _say(self, text: str) -> None:
        """Say a thing once."""
        if text not in self._said:
            self._said.add(text)
            echo_err(text)
