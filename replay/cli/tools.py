"""`replay tools`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replay.cli.options import read_run_option, run_to_read
from replay.cli.report import check_free, write
from replay.cli.terminal import closed_pipe_ignored, echo_err

if TYPE_CHECKING:
    from replay.records.tool_usage import ToolReport

_SUFFIXES = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}

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
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "md", "html", "json"]),
    help="What to write.  [default: as the output is named, else text]",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def tools(
    run_argument: Path | None,
    run_path: Path | None,
    servers: tuple[str, ...],
    tools: tuple[str, ...],
    models: tuple[str, ...],
    form: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Show the author of a server how models call each tool, and what to rewrite.

    For each tool of a run: calls and their outcomes by model, names called in its place, fields that were missing or
    misnamed, values refused, where schema and server disagree, and which line of the description or schema to write
    otherwise, with the calls that speak for it.
    """
    from replay.analysis.tool_usage import ToolSelection, tool_report
    from replay.runfile import Run
    from replay.safety.redaction import Redactor

    if output is not None:
        check_free(output, force)
    form = _format(form, output)
    with Run.read(run_to_read(run_path, run_argument)) as run:
        _check_has_verdicts(run)
        report = tool_report(run, ToolSelection(servers, tools, models))
    text = Redactor().text(_render(report, form, to_file=output is not None)).rstrip("\n") + "\n"
    if output is None:
        with closed_pipe_ignored():
            click.echo(text, nl=False)
        return
    write(output, text)
    echo_err(f"wrote {output}")


def _check_has_verdicts(run: object) -> None:
    from replay.errors import UsageError
    from replay.runfile import Run

    assert isinstance(run, Run)
    if not run.has_verdicts():
        raise UsageError(f"{run.path}: this run has no verdicts yet; make some with: replay classify results/*.json")


def _format(asked: str | None, output: Path | None) -> str:
    from replay.errors import UsageError

    asked = "markdown" if asked == "md" else asked
    told = _SUFFIXES.get(output.suffix.lower()) if output is not None else None
    if asked is not None and told not in (None, asked):
        raise UsageError(f"--format {asked} does not go with {output}, whose name says {told}")
    if asked is None and told is None and output is not None:
        raise UsageError(
            f"{output}: its name tells no format; it takes {', '.join(_SUFFIXES)}, or name one with --format"
        )
    return asked or told or "text"


def _render(report: ToolReport, form: str, *, to_file: bool) -> str:
    if form == "json":
        from replay.reports.json_ import ToolsDocument
        from replay.safety.redaction import Redactor

        document = ToolsDocument(**dict(report)).model_dump(mode="json")
        stamp = {key: document.pop(key) for key in ("format", "version")}
        return json.dumps(Redactor().json({**stamp, **document}), ensure_ascii=True, indent=1)
    if form == "html":
        from replay.reports.tools import tools_html

        return tools_html(report)
    if form == "markdown":
        from replay.reports.tools import tools_markdown

        return tools_markdown(report)
    from replay.reports.tools import tools_text

    return tools_text(report, 160 if to_file else _width())


def _width() -> int:
    """Columns of stdout; a pipe is wide."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else 160
