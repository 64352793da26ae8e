"""`replay report`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.analysis.known_failures import find_known_file, read_known_file
from replay.cli.options import known_option, read_run_option, reference_option, run_to_read
from replay.cli.output import format_option, output_format, output_options, write_output
from replay.errors import UsageError
from replay.reports import FORMATS, Selection, pieces
from replay.runfile import Run

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
@format_option(list(FORMATS), "markdown", "What to write; markdown is made for issue trackers.")
@click.option("--call", metavar="ID", help="One call: TRAJECTORY:s2c1, or MODEL:TRAJECTORY:s2c1.")
@click.option("--trajectory", metavar="ID", help="One trajectory: its id, or MODEL:ID.")
@click.option("--model", metavar="NAME", help="One model.")
@click.option("--filter", metavar="FILTER", help="The calls that match, written as in the browser.")
@reference_option("What the run is scored against: its own faults are reported too.")
@known_option
@output_options()
def report(
    run_argument: Path | None,
    run_path: Path | None,
    form: str | None,
    reference: Path | None,
    known_path: Path | None,
    output: Path | None,
    force: bool,
    **about: str | None,
) -> None:
    """Write a diagnosis: markdown, html, json, csv, junit or svg.

    Without --call, --trajectory, --model or --filter the report is about the whole run. Markdown is made for issue
    trackers, html is one file that needs no network, junit is for CI servers, json and csv for programs, svg is the
    figure alone. Secrets are taken out of all of them.
    """
    if sum(chosen is not None for chosen in about.values()) > 1:
        raise UsageError("--call, --trajectory, --model and --filter do not go together; name one")
    form = output_format(form, output, list(FORMATS), "markdown", force=force)
    path = run_to_read(run_path, run_argument)
    with Run.read(path) as run:
        known = read_known_file(known_path or find_known_file(path)).failures
        write_output(pieces(run, form, Selection(**about, reference=reference, known=known)), output)
