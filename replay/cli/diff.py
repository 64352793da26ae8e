"""`replay diff`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from replay.analysis.known_failures import find_known_file, read_known_file
from replay.cli.options import json_option, known_option, parts_of_fail_on, raise_on
from replay.cli.output import write_output
from replay.cli.terminal import without_secrets
from replay.diagnosis.phrasing import counted
from replay.errors import UsageError
from replay.records import Record
from replay.reports import document_text
from replay.runfile import Run

EXAMPLES = """\b
Examples:
  replay diff before.db after.db
  replay diff monday.db tuesday.db wednesday.db
  replay diff stored.db replay-run.db --fail-on worse,new
  replay diff replay-run.db --models gpt-5 claude-4.5-sonnet
  replay diff yesterday.jsonl today.jsonl
"""


@click.command("diff", epilog=EXAMPLES)
@click.argument(
    "run_paths",
    metavar="A [B]...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
)
@click.option("--models", nargs=2, metavar="A B", help="Compare two models of one run.")
@click.option(
    "--fail-on",
    metavar="WHAT",
    help="Exit with 1 on: worse (a call was judged worse), new (a failed call that only the last run has, or that "
    "fails as none did before, and is not marked as known); comma-separated.",
)
@known_option
@json_option
def diff(
    run_paths: tuple[Path, ...],
    models: tuple[str, str] | None,
    fail_on: str | None,
    known_path: Path | None,
    as_json: bool,
) -> None:
    """Compare runs over time, two models of one run, or two sessions of one task.

    A and B are run files; or results files, folders and archives, which are judged by their recorded answers.

    Calls are the same where model, trajectory and tool are: of the calls of a tool those go together that are most
    alike, and of these the nearest. Of two single sessions the ids do not count, and it is told at which call they
    part. Worse is a step down from success, not found, invalid arguments, unknown tool to
    illegal format; inconclusive calls are neither better nor worse. Of more than two runs, the oldest first, each is
    compared with the next. Failures are told by their fingerprints (`replay known`): when each was first and last seen,
    in how many calls, in which models.
    """
    conditions = set(parts_of_fail_on(fail_on))
    if unknown := sorted(conditions - {"worse", "new"}):
        raise UsageError(f"--fail-on: there is no {unknown[0]!r}; it takes worse, new")
    if (len(run_paths) < 2) == (models is None) or (models is not None and len(run_paths) > 1):
        raise UsageError("say what to compare: A B [C ...], or RUN --models A B")
    if models is not None:
        _diff_models(run_paths[0], models, conditions, as_json)
    else:
        _diff_runs(run_paths, conditions, known_path, as_json)


def _diff_models(path: Path, models: tuple[str, str], conditions: set[str], as_json: bool) -> None:
    from replay.analysis.diff import diff_models
    from replay.reports.diff import diff_text
    from replay.reports.json_ import DiffDocument

    with Run.read(path) as run:
        comparison = diff_models(run, *models)
    _print(DiffDocument(**dict(comparison)) if as_json else diff_text(comparison, models=True))
    _raise_on(conditions, len(comparison.worse), len(comparison.new_failures))


def _diff_runs(paths: tuple[Path, ...], conditions: set[str], known_path: Path | None, as_json: bool) -> None:
    """Two runs in full, or more of them as a history."""
    from replay.analysis.diff import GatheredRuns, diff_runs
    from replay.reports.diff import diff_text, failures_section, history_text
    from replay.reports.json_ import DiffDocument, HistoryDocument

    known = read_known_file(known_path or find_known_file(paths[-1])).failures
    with ExitStack() as stack:
        runs = [stack.enter_context(Run.read(_run_of(path, stack))) for path in paths]
        names = [str(path) for path in paths]
        sessions = any(run.path != path for run, path in zip(runs, paths, strict=True))
        comparison = diff_runs(runs[0], runs[1], names, sessions=sessions) if len(runs) == 2 else None
        gathered = GatheredRuns.of(runs, names)
        new = gathered.new_failed_calls(known, comparison)
        if comparison is not None:
            failures = gathered.failures(known)
            text = "\n".join([diff_text(comparison), *failures_section(failures)])
            _print(DiffDocument(**dict(comparison), failures=failures) if as_json else text)
            worse = len(comparison.worse)
        else:
            history = gathered.history(known)
            _print(HistoryDocument(**dict(history)) if as_json else history_text(history))
            worse = history.changes[-1].worse
    _raise_on(conditions, worse, new)


def _run_of(path: Path, stack: ExitStack) -> Path:
    """A run file, or one for this comparison alone in which results files are judged by their recorded answers."""
    from replay.cli.browse import is_run, run_of_its_own
    from replay.cli.input_files import InputFiles

    if is_run(path) or not path.exists():
        return path
    return run_of_its_own(InputFiles((path,), None).open_all(), stack)


def _print(shown: Record | str) -> None:
    text = document_text(shown) if isinstance(shown, Record) else f"{without_secrets(shown)}\n"
    write_output([text], None)


def _raise_on(conditions: set[str], worse: int, new: int) -> None:
    found = []
    if "worse" in conditions and worse:
        found.append(f"{worse} worse")
    if "new" in conditions and new:
        found.append(counted(new, "new failure"))
    raise_on(found)
