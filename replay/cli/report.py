"""`replay report`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from replay.cli.options import known_option, read_run_option, run_to_read
from replay.cli.terminal import closed_pipe_ignored, echo_err

FORMATS = ("markdown", "html", "json", "csv", "junit", "svg")
_SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
    ".xml": "junit",
    ".svg": "svg",
}


EXAMPLES = """\b
Examples:
  replay report --call 00060000:s2c1 > issue.md
  replay report -o report.html
  replay report --run nightly.db --format junit -o replay.xml --force
  replay report --model gpt-5 -o figure.svg
  replay report --filter 'outcome:failed server:excel' -o excel.csv
"""


@click.command("report", epilog=EXAMPLES)
@read_run_option
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS, "md"]),
    help="What to write; markdown is made for issue trackers.  [default: as the output is named, else markdown]",
)
@click.option("--call", metavar="ID", help="One call: TRAJECTORY:s2c1, or MODEL:TRAJECTORY:s2c1.")
@click.option("--trajectory", metavar="ID", help="One trajectory: its id, or MODEL:ID.")
@click.option("--model", metavar="NAME", help="One model.")
@click.option("--filter", "filter_text", metavar="FILTER", help="The calls that match, written as in the browser.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What the run is scored against: its own faults are reported too.",
)
@known_option
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def report(
    run_argument: Path | None,
    run_path: Path | None,
    form: str | None,
    call: str | None,
    trajectory: str | None,
    model: str | None,
    filter_text: str | None,
    reference: Path | None,
    known_path: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write a diagnosis: markdown, html, json, csv, junit or svg.

    Without --call, --trajectory, --model or --filter the report is about the whole run. Markdown is made for issue
    trackers, html is one file that needs no network, junit is for CI servers, json and csv for programs, svg is the
    figure alone. Secrets are taken out of all of them.
    """
    from replay.analysis.known_failures import find_known_file, read_known_file
    from replay.errors import UsageError
    from replay.reports import Selection, pieces
    from replay.runfile import Run
    from replay.safety.filesystem import atomic_writer

    if sum(chosen is not None for chosen in (call, trajectory, model, filter_text)) > 1:
        raise UsageError("--call, --trajectory, --model and --filter do not go together; name one")
    if output is not None:
        check_free(output, force)
    form = _format(form, output)
    path = run_to_read(run_path, run_argument)
    with Run.read(path) as run:
        known = read_known_file(known_path or find_known_file(path)).failures
        selection = Selection(call, trajectory, model, filter_text, reference, known)
        if output is None:
            with closed_pipe_ignored():
                sys.stdout.writelines(pieces(run, form, selection))
            return
        with atomic_writer(output, "replace") as out:
            out.writelines(pieces(run, form, selection))
    echo_err(f"wrote {output}")


def _format(asked: str | None, output: Path | None) -> str:
    """The format: the one that is asked for, else the one that the output's name tells."""
    from replay.errors import UsageError

    asked = "markdown" if asked == "md" else asked
    told = _SUFFIXES.get(output.suffix.lower()) if output is not None else None
    if asked is not None and told not in (None, asked):
        raise UsageError(f"--format {asked} does not go with {output}, whose name says {told}")
    return asked or told or "markdown"


def check_free(path: Path, force: bool) -> None:
    """See that a file may be written.

    Raises:
        UsageError: it exists, and `force` is not set.
    """
    from replay.errors import UsageError

    if path.exists() and not force:
        raise UsageError(f"{path} exists; overwrite it with --force")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no directory {path.absolute().parent}")


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from replay.safety.filesystem import write_atomically

    write_atomically(path, text, "replace")
