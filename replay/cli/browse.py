"""`replay browse`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
import click

from replay.analysis.answer_labels import known_labels
from replay.cli.input_files import InputFiles
from replay.cli.options import DEFAULT_RUN, FILE, fleet_of, names_option, run_option
from replay.cli.terminal import echo_err
from replay.diagnosis.diagnose import FindingStore
from replay.errors import RunFileError, UsageError
from replay.formats.results_file import ResultsFile
from replay.records.summary import UnreadFile
from replay.runfile import Run
from replay.runfile.repeated_calls import leave_out_repeated
from replay.runfile.run_inputs import save_unread
from replay.safety.filesystem import open_regular
from replay.safety.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replay.interpreter import Fleet
    from replay.replayer.plan import Progress

EXAMPLES = """\b
Examples:
  replay browse
  replay browse results/*.json
  replay browse --run after.db --against before.db
  replay browse --run nightly.db --filter 'outcome:not_found server:excel'
"""
_SQLITE = b"SQLite format 3\x00"


@click.command(epilog=EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@run_option(f"The run file; with results files, the one that they are added to.  [default: {DEFAULT_RUN}]", None)
@click.option(
    "--against",
    type=FILE,
    metavar="RUN",
    help="A second run file, to compare with.",
)
@click.option("--filter", "filter_text", metavar="FILTER", help="Begin with the list of the calls that match.")
@click.option("--light", is_flag=True, help="Dark letters on a light ground; `t` changes it.")
@click.option(
    "--clipboard-file",
    type=FILE,
    envvar="REPLAY_CLIPBOARD_FILE",
    help="Where `y` also writes what it copies, for terminals without a clipboard.",
)
@names_option
def browse(
    files: tuple[Path, ...],
    run_path: Path | None,
    names: str | None,
    **shown: Any,
) -> None:
    """Browse the failures of a run in the terminal.

    Without FILES the run file is opened. FILES are a run file, or results files: those are judged by their recorded
    answers first, as `replay classify --offline` does, into a run that is thrown away unless --run names one.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("browse needs a terminal; for a file or a pipe use: replay report")
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal (TERM=dumb) cannot show the browser; use: replay report, or set TERM")
    if len(files) == 1 and run_path is None and is_run(files[0]):
        run_path, files = files[0], ()
    from replay_tui import browse_run

    if not files:
        browse_run(run_path or DEFAULT_RUN, **shown)
        return
    with TemporaryDirectory(prefix="replay-") as directory:
        target = run_path or Path(directory) / "replay-run.db"
        _classify(files, target, names)
        label = None if run_path else f"{len(files)} {'file' if len(files) == 1 else 'files'}, offline"
        browse_run(target, label=label, clean_up=partial(rmtree, directory, ignore_errors=True), **shown)


def is_run(path: Path) -> bool:
    """Whether a file is one of SQLite's, as runs are."""
    try:
        with open_regular(path) as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def _classify(files: tuple[Path, ...], target: Path, names: str | None) -> None:
    """Judge results files by their recorded answers."""
    run = next(filter(is_run, files), None)
    if run is not None:
        raise RunFileError(str(run), "a run file does not go together with other files; open it alone")
    inputs = InputFiles(files, names)
    opened = inputs.open_all()
    total = sum(file.calls for file in opened)
    echo_err(f"judging {total} {'call' if total == 1 else 'calls'} by their recorded answers ...")
    judge_by_recording(opened, target, inputs.unread)


def judge_by_recording(
    opened: list[ResultsFile], target: Path, unread: Sequence[UnreadFile] = (), *, with_findings: bool = True
) -> None:
    """Make a run of results files, judged by their recorded answers alone.

    Args:
        opened: the files.
        target: of the run file.
        unread: what could not be read beside them.
        with_findings: keep what the trajectories show too.
    """
    from replay.cli.progress import shown_progress
    from replay.replayer.plan import Progress

    async def judge() -> None:
        progress = Progress()
        async with shown_progress(progress):
            await judge_recorded(opened, target, fleet_of(None), progress, with_findings=with_findings)

    anyio.run(judge)
    with Run.open(target) as run, run.transaction() as db:
        save_unread(db, unread, [file.path for file in opened])


def run_of_its_own(opened: list[ResultsFile], stack: ExitStack, *, with_findings: bool = True) -> Path:
    """A run of results files for one command alone, judged by their recorded answers; it goes with the stack."""
    target = Path(stack.enter_context(TemporaryDirectory(prefix="replay-"))) / "run.db"
    judge_by_recording(opened, target, with_findings=with_findings)
    return target


async def judge_recorded(
    opened: list[ResultsFile],
    target: Path,
    fleet: Fleet | None,
    progress: Progress | None = None,
    *,
    with_findings: bool = True,
) -> None:
    """The same in code that is asynchronous, with the servers of a fleet as far as they are known."""
    from replay.replayer.classifier import classify_stored
    from replay.replayer.plan import Options, Progress

    with Run.open(target, redactor=Redactor(fleet.secrets() if fleet else ())) as run:
        on_done = FindingStore(run).keep if with_findings else None
        options = Options(offline=True, on_done=on_done, labels=known_labels(fleet))
        await classify_stored(run, opened, options, progress=progress or Progress(), fleet=fleet)
        leave_out_repeated(run)
