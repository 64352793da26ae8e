"""`replay report`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import DEFAULT_RUN, echo_err

FORMATS = ("markdown", "html", "json", "csv", "junit", "svg")


EXAMPLES = """\b
Examples:
  replay report --call 00060000:s2c1 > issue.md
  replay report replay-run.db --format html -o report.html
  replay report --format junit -o replay.xml --force
  replay report --format svg --model gpt-5 -o figure.svg
"""


@click.command("report", epilog=EXAMPLES)
@click.argument("run_path", metavar="[RUN]", type=click.Path(path_type=Path, dir_okay=False), default=DEFAULT_RUN)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="markdown",
    show_default=True,
    help="What to write; markdown is made for issue trackers.",
)
@click.option("--call", metavar="ID", help="One call: TRAJECTORY:s2c1, or MODEL:TRAJECTORY:s2c1.")
@click.option("--trajectory", metavar="ID", help="One trajectory: its id, or MODEL:ID.")
@click.option("--model", metavar="NAME", help="One model.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What the run is scored against: its own faults are reported too.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def report(
    run_path: Path,
    form: str,
    call: str | None,
    trajectory: str | None,
    model: str | None,
    reference: Path | None,
    output: Path | None,
    force: bool,
) -> None:
    """Write a diagnosis: markdown, html, json, csv, junit or svg.

    RUN is a run file (replay-run.db by default). Without --call, --trajectory or --model the report is about the whole
    run. Markdown is made for issue trackers, html is one file that needs no network, junit is for CI servers, json and
    csv for programs, svg is the figure alone. Secrets are taken out of all of them.
    """
    from replay.errors import UsageError
    from replay.reports import render
    from replay.runfile import Run

    if sum(chosen is not None for chosen in (call, trajectory, model)) > 1:
        raise UsageError("--call, --trajectory and --model do not go together; name one")
    if output is not None:
        check_free(output, force)
    with Run.read(run_path) as run:
        text = render(run, form, call=call, trajectory=trajectory, model=model, reference=reference)
    if output is None:
        click.echo(text, nl=False)
        return
    write(output, text)
    echo_err(f"wrote {output}")


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
    from replay.filesystem import write_atomically

    write_atomically(path, text, "replace")
