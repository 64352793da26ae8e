"""`replay known`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from replay.analysis.known_failures import (
    NAME,
    KnownFailures,
    add_known,
    failed_calls,
    failures_of,
    find_known_file,
    read_known_file,
    remove_known,
)
from replay.cli.options import json_option, known_option, read_run_option, run_option, run_to_read
from replay.cli.output import print_json
from replay.cli.terminal import closed_pipe_ignored, echo_err, without_secrets
from replay.diagnosis.phrasing import counted, listed
from replay.errors import UsageError
from replay.records.finding import KnownFailure, RecurringFailure
from replay.runfile import Run
from replay.runfile.trajectory_queries import find_call
from replay.safety.redaction import clean
from replay.safety.text import one_line
from replay.suggestions import nearest_name, nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


EXAMPLES = """\b
Examples:
  replay known list
  replay known list nightly.db
  replay known add 3f9ac2d1b0e4 --issue https://github.com/org/server/issues/7
  replay known add 00060000:s2c1 --note 'waits for excel 2.3'
  replay known remove 3f9ac2d1b0e4
  replay classify results/*.json --fail-on new
"""


@click.group("known", epilog=EXAMPLES)
def known() -> None:
    """Mark failures as known, with a note or the address of an issue.

    A failure has a fingerprint over tool, rule, finding and the error's words without volatile values: it is the same
    in every run, task and model. What is known stands in replay-known.yaml, beside the run or in the repository;
    tables and reports show it, and `--fail-on new` passes over it.
    """


@known.command("list", epilog=EXAMPLES)
@read_run_option
@known_option
@json_option
def list_failures(run_path: Path | None, run_argument: Path | None, known_path: Path | None, as_json: bool) -> None:
    """List the failures of a run by their fingerprints, and what is known of each."""
    from replay.reports.diff import failures_section

    book, failures = _failures(run_to_read(run_path, run_argument), known_path)
    with closed_pipe_ignored():
        if as_json:
            print_json([failure.model_dump(mode="json") for failure in failures])
        else:
            click.echo(without_secrets("\n".join(failures_section(failures)).lstrip("\n")))
    note_unseen(book, failures)


@known.command("add", epilog=EXAMPLES)
@click.argument("identifier", metavar="ID")
@click.option("--issue", metavar="URL", help="Address of the issue where it is dealt with.")
@click.option("--note", metavar="TEXT", help="What there is to know.")
@run_option("The run file that has the failure.")
@known_option
def add(identifier: str, issue: str | None, note: str | None, run_path: Path, known_path: Path | None) -> None:
    """Mark a failure as known.

    ID is a fingerprint, its beginning, or a call that fails so: TRAJECTORY:s2c1. Where there is no file yet, one is
    made here.
    """
    from pydantic import ValidationError

    if not (issue or note):
        raise UsageError("say what is known of it: --issue URL, --note TEXT or both")
    book, failures = _failures(run_path, known_path, must_exist=False)
    failure = _chosen(identifier, failures, run_path)
    what = one_line(failure.sentence, 160)
    try:
        entry = KnownFailure(
            issue=issue, note=clean(note) if note else None, tool=one_line(failure.tool, 100), what=what
        )
    except ValidationError as problem:
        first = problem.errors()[0]
        raise UsageError(f"--{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None
    path = known_path or book.path or Path(NAME)
    add_known(path, failure.fingerprint, entry)
    echo_err(f"{path}: {failure.fingerprint} is known: {one_line(entry.words, 200)}")


@known.command("remove", epilog=EXAMPLES)
@click.argument("fingerprint")
@run_option("The run file beside which the file stands.")
@known_option
def remove(fingerprint: str, run_path: Path, known_path: Path | None) -> None:
    """Take a failure out of replay-known.yaml."""
    path = known_path or find_known_file(run_path)
    if path is None:
        raise UsageError(f"there is no {NAME} beside {run_path}, here or in the repository; name one with --known FILE")
    marks = read_known_file(path).failures
    found = [mark for mark in marks if mark.startswith(fingerprint)] if fingerprint else []
    if len(found) != 1:
        nearest = nearest_name(fingerprint, marks)
        hint = f"; nearest: {nearest}" if nearest else ""
        raise UsageError(f"{path} has {len(found) or 'no'} failure{'s' * (len(found) != 1)} {fingerprint!r}{hint}")
    remove_known(path, found[0])
    echo_err(f"{path}: {found[0]} is no longer known")


class KnownInRun(NamedTuple):
    """What is known of the failures of a run."""

    book: KnownFailures
    failures: Sequence[RecurringFailure]

    @property
    def new(self) -> int:
        """Failed calls whose failure nobody noted."""
        return sum(failure.calls for failure in self.failures if failure.known is None)

    def lines(self) -> Iterator[str]:
        """How many failed calls are known and how many are new; then those that are known."""
        from replay.reports.diff import failure_lines

        noted = [failure for failure in self.failures if failure.known is not None]
        calls = sum(failure.calls for failure in noted)
        new = counted(self.new, "call")
        yield f"Known failures: {counted(calls, 'call')}; not known: {new} (replay known list shows them)"
        yield from failure_lines(noted)


def note_unseen(book: KnownFailures, failures: Sequence[RecurringFailure]) -> None:
    """Say which failures of the file nothing in the run has."""
    unseen = book.unseen(failure.fingerprint for failure in failures)
    if unseen:
        verb = "matches" if len(unseen) == 1 else "match"
        echo_err(
            f"note: {book.path}: {counted(len(unseen), 'fingerprint')} {verb} no failure of the run: {listed(unseen)}"
        )


def _failures(
    run_path: Path, known_path: Path | None, *, must_exist: bool = True
) -> tuple[KnownFailures, tuple[RecurringFailure, ...]]:
    absent = known_path is not None and not known_path.exists() and not must_exist
    book = KnownFailures() if absent else read_known_file(known_path or find_known_file(run_path))
    with Run.read(run_path) as run:
        run.check_has_verdicts()
        return book, failures_of(run, book.failures)


def _chosen(identifier: str, failures: Sequence[RecurringFailure], run_path: Path) -> RecurringFailure:
    """The failure that a fingerprint, its beginning or a call's id names."""
    wanted = _fingerprint_of_call(identifier, run_path) if ":" in identifier else identifier.lower()
    found = [failure for failure in failures if failure.fingerprint.startswith(wanted)] if wanted else []
    if len(found) == 1:
        return found[0]
    marks = [failure.fingerprint for failure in (found or failures)]
    if found:
        raise UsageError(f"{identifier} begins {len(found)} fingerprints: {', '.join(marks[:3])}")
    nearest = ", ".join(nearest_names(wanted, marks)) or "none, since no call failed"
    raise UsageError(f"no failure of {run_path} has the fingerprint {identifier!r}; nearest: {nearest}")


def _fingerprint_of_call(identifier: str, run_path: Path) -> str:
    with Run.read(run_path) as run:
        place, position = find_call(run, identifier)
        for call in failed_calls(run):
            if (call.ref.file, call.ref.trajectory, call.ref.call) == (place.file, place.trajectory, position):
                return call.fingerprint
    raise UsageError(f"{identifier} is not a failed call; replay known list shows those that are")
