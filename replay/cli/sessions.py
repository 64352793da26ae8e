"""`replay sessions`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import click
import platformdirs

from replay.analysis.answer_labels import known_labels
from replay.cli.options import first_moment, run_option
from replay.cli.output import stdout_width
from replay.cli.terminal import closed_pipe_ignored, echo_err, note, typed_command
from replay.errors import FormatError, NoTrajectoryError, RunFileError, TooOldError, UsageError
from replay.formats import FileNames, UnopenedFile
from replay.formats.results_file import FileSummary
from replay.formats.session_folders import SessionFolder, session_folders
from replay.runfile import Run, summarize
from replay.runfile.repeated_calls import leave_out_repeated
from replay.runfile.run_inputs import keep_files

if TYPE_CHECKING:
    from replay.replayer.plan import Source

EXAMPLES = """\b
Examples:
  replay                           # the same
  replay sessions
  replay sessions --since 2026-11-01
"""
SHARED_FROM: Final = 64_000_000
"""So many bytes of sessions are worth the start of worker processes."""


@click.command("sessions", epilog=EXAMPLES)
@click.option(
    "--since",
    default="7d",
    show_default=True,
    metavar="TIME",
    help="Only sessions in which something happened since then: 7d, 12h, 2026-11-20.",
)
@run_option("The run file, which is made anew.  [default: sessions.db in your cache directory]", None)
@click.option("--fresh", is_flag=True, help="Judge all sessions again, also those that are as they were.")
def sessions(since: str, run_path: Path | None, fresh: bool) -> None:
    """Say what failed in the sessions of this machine's coding agents.

    The default folders of Claude Code, Codex, Gemini CLI, opencode, Copilot CLI and Cursor are read, and their calls
    judged by the answers that the sessions hold. Nothing is started, and nothing leaves the machine. Cursor's
    transcripts keep no answers; of opencode the files are read, and not the database of newer versions.

    The verdicts are kept in your cache directory, so that the next time only sessions that went on are read. To remove
    them, delete sessions.db there. What answers mean by a replay-labels.yaml in this directory counts.
    """
    moment = first_moment(since)
    folders = list(session_folders(moment))
    if not folders:
        echo_err("no sessions of coding agents were found in your home directory")
        again = " ".join(typed_command())
        echo_err(f"try: {again} demo, or name files: {again} classify --offline FILES ({again} --help lists the verbs)")
        return
    for folder in folders:
        sessions = "1 session" if len(folder.files) == 1 else f"{len(folder.files):,} sessions"
        echo_err(f"read {folder.path}: {sessions} of {folder.agent} written since {moment}")
    echo_err("nothing is started, and nothing leaves this machine")
    if not any(folder.files for folder in folders):
        echo_err(f"no session is that young; look further back: {_further_back(moment)}")
        return
    _report(folders, moment, run_path, fresh=fresh)


def _further_back(since: str) -> str:
    """The command that reads the year before the moment too."""
    return f"{' '.join(typed_command())} sessions --since {int(since[:4]) - 1}-01-01"


def default_run() -> Path:
    """The run file of this machine's sessions."""
    directory = platformdirs.user_cache_path("mcp-replay", appauthor=False)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory / "sessions.db"


def judge_sessions(since: str) -> None:
    """Judge this machine's sessions into their usual run, for who reads it next.

    Raises:
        UsageError: no time, or no session in which something happened since.
    """
    moment = first_moment(since)
    folders = [folder for folder in session_folders(moment) if folder.files]
    if not folders:
        raise UsageError(f"there is no session of a coding agent since {moment}")
    with _opened(None) as run:
        anyio.run(_judge, run, folders, moment, _Seen())


def _opened(path: Path | None, *, fresh: bool = False) -> Run:
    """The run to judge sessions into: one that was named is made anew; the usual one is gone on with if it is whole."""
    if path is not None or fresh:
        return Run.open(path or default_run(), fresh=True)
    try:
        return Run.open(default_run())
    except RunFileError:
        return Run.open(default_run(), fresh=True)


def _report(folders: Sequence[SessionFolder], since: str, run_path: Path | None, *, fresh: bool) -> None:
    from replay.cli.terminal import run_in_order
    from replay.reports.summary import sessions_text, worst_lines

    seen = _Seen()
    with _opened(run_path, fresh=fresh) as run:
        run_in_order(_judge, run, folders, since, seen)
        summary = summarize(run)
        seen.tell()
        calls, again = sum(summary.outcomes.values()), " ".join(typed_command())
        if not calls:
            echo_err(f"no call was made in them since then; look further back: {_further_back(since)}")
            return
        where = f"--run {shlex.quote(str(run.path))}"
        with closed_pipe_ignored():
            click.echo(sessions_text(run, summary, stdout_width()))
            for number, (group, sentence) in enumerate(worst_lines(summary)):
                click.echo(f"{'' if number else chr(10) + 'The worst' + chr(10)}  {sentence}")
                click.echo(f"      {again} report --call {shlex.quote(group.example)} {where}")
            click.echo(f"\nNext: {again} browse {where}")


async def _judge(run: Run, folders: Sequence[SessionFolder], since: str, seen: _Seen) -> None:
    """Judge the sessions by what they hold; many of them on all processors. Their findings are made when asked for.

    Those that are as they were when the run judged them are not read; what it has of other sessions goes.
    """
    from replay.cli.progress import shown_progress
    from replay.replayer.classifier import classify_stored
    from replay.replayer.plan import Options, Progress
    from replay.replayer.pool import WorkerLocation
    from replay.replayer.unchanged_files import UnchangedFiles
    from replay.replayer.worker_processes import open_pool
    from replay.replayer.workers import OnWorkers

    options = Options(offline=True, labels=known_labels(None), all_edges=False)
    every = [UnopenedFile(file, FileNames(None), since) for folder in folders for file in folder.files]
    unchanged = UnchangedFiles(run, None, options, seen)
    sources = [source for source in unchanged.changed(every) if isinstance(source, UnopenedFile)]
    if unchanged.kept:
        note(f"{unchanged.kept} of {len(every):,} sessions are as they were: their verdicts stand")
    progress = Progress(warn=note)
    async with shown_progress(progress), AsyncExitStack() as stack:
        executor = None
        if sum(map(_size, sources)) >= SHARED_FROM and (processors := os.cpu_count() or 1) > 1:
            pool = await stack.enter_async_context(open_pool(WorkerLocation(processors, None), note))
            executor = OnWorkers(pool, None)
        try:
            await classify_stored(run, sources, options, progress=progress, listener=unchanged, executor=executor)
        finally:
            unchanged.keep()
    with run.transaction() as db:
        keep_files(db, seen.read)
    leave_out_repeated(run)


def _size(source: UnopenedFile) -> int:
    return Path(source.file.path).stat().st_size


class _Seen:
    """Counts what becomes of session files: a line says it of all, where `classify` has one for each."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self.read: list[str] = []
        """The sessions, now or when they were last judged."""

    def opened(self, source: Source, file: FileSummary) -> None:
        """A session was looked through."""
        self.read.append(file.path)
        if file.lost:
            self._unread.append(file.path)

    def refused(self, source: Source, error: FormatError) -> None:
        """A session cannot be read, or nothing happened in it."""
        if not isinstance(error, NoTrajectoryError | TooOldError):
            self._unread.append(error.path)

    def tell(self) -> None:
        """Say how many could not be read."""
        if self._unread:
            files = "1 file" if len(self._unread) == 1 else f"{len(self._unread)} files"
            echo_err(
                f"note: {files} could not be read, or not as a whole; a newer version of the agent may write otherwise "
                f"(replay classify --offline {shlex.quote(self._unread[0])} says why)"
            )
