"""`replay tools`."""

from __future__ import annotations

from pathlib import Path

import click

from replay.cli.options import read_run_option, run_to_read
from replay.cli.output import format_option, output_format, output_options, stdout_width, write_output
from replay.runfile import Run

FORMATS = ("text", "markdown", "html", "json")

EXAMPLES = """\b
Examples:
  replay tools
  replay tools nightly.db --server excel
  replay tools --tool 'read_*' --model gpt-5
  replay tools --server excel -o excel.html
  replay tools --server excel --format markdown > issue.md
"""


@click.command("tools", epilog=EXAMPLES)
@read_run_option
@click.option("--server", "servers", metavar="NAME", multiple=True, help="Only the tools of this server. Repeatable.")
@click.option(
    "--tool", "tools", metavar="NAME", multiple=True, help="Only this tool: TOOL, SERVER/TOOL or a pattern. Repeatable."
)
@click.option("--model", "models", metavar="NAME", multiple=True, help="Only the calls of this model. Repeatable.")
@format_option(FORMATS, "text")
@output_options()
def tools(
    run_argument: Path | None,
    run_path: Path | None,
    form: str | None,
    output: Path | None,
    force: bool,
    **about: tuple[str, ...],
) -> None:
    """Show the author of a server how models call each tool, and what to rewrite.

    For each tool of a run: calls and their outcomes by model, names called in its place, fields that were missing or
    misnamed, values refused, where schema and server disagree, and which line of the description or schema to write
    otherwise, with the calls that speak for it.
    """
    from replay.analysis.tool_usage import ToolSelection, tool_report
    from replay.reports.tools import render

    form = output_format(form, output, FORMATS, "text", force=force)
    with Run.read(run_to_read(run_path, run_argument)) as run:
        run.check_has_verdicts()
        report = tool_report(run, ToolSelection(**about))
    width = stdout_width() if output is None else 160
    write_output([render(report, form, width).rstrip("\n") + "\n"], output)
