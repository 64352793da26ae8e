"""`replay figure`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from replay.cli.options import read_run_option, run_to_read
from replay.cli.output import output_format, output_options, write_output
from replay.cli.terminal import echo_err
from replay.errors import UsageError
from replay.reports.basis import certainty_line
from replay.runfile import Run

if TYPE_CHECKING:
    from replay.charts.matplotlib_ import ChartFormat, Medium

EXAMPLES = """\b
Figures:
  error-multiples     the failures by kind, a panel a model
  leaderboard         the models by average score, else by well-formed calls
  metric-by-type      a metric by type of task: a dot a model, with intervals
  model-finding       which model makes which mistake: a heat map
  model-server        which model fails at which server: a heat map
  outcomes            how the calls of each model were judged: stacked bars, as on the page
  supported           tasks passed as reported, and what the evidence supports (see replay audit)
  tool-outcome        how the calls to each tool were judged: a heat map
  trajectory-finding  in how many trajectories a kind of finding stands, as on the page

\b
Examples:
  replay figure outcomes -o figure1.svg
  replay figure leaderboard nightly.db -o leaderboard.pdf
  replay figure metric-by-type --metric recall -o recall.png --for slide
  replay figure model-server --data csv > model-server.csv
"""

DATA_FORMATS = ("csv", "json")


@click.command("figure", epilog=EXAMPLES)
@click.argument("name", metavar="NAME", required=False)
@read_run_option
@output_options("Write to this file: .svg, .png or .pdf; .csv or .json for the numbers.")
@click.option("--data", "data_format", type=click.Choice(DATA_FORMATS), help="Print the numbers of the figure instead.")
@click.option("--for", "medium", type=click.Choice(["paper", "slide"]), default="paper", help="Size of the letters.")
@click.option("--model", "models", metavar="NAME", multiple=True, help="Only this model. Repeatable.")
@click.option(
    "--metric", metavar="NAME", help="Of metric-by-type: average, recall, precision, ..., well-formed, success."
)
@click.option(
    "--rows", type=click.IntRange(1, 500), default=30, show_default=True, help="Tools, servers, findings or types."
)
def figure(
    name: str | None,
    run_argument: Path | None,
    run_path: Path | None,
    output: Path | None,
    data_format: str | None,
    medium: str,
    force: bool,
    **shown: Any,
) -> None:
    """Draw a figure for a paper or a slide, or write its numbers.

    Every figure is readable in grey and for colour-blind people. Drawing needs matplotlib
    (in a clone: pip install '.[figures]'); the numbers do not. The same run gives the same file, to the byte.
    """
    from replay.charts.catalogue import CHARTS, chart_csv, chart_data, chart_json, check_chart
    from replay.charts.matplotlib_ import drawn
    from replay.charts.options import ChartOptions

    if name is None:
        raise UsageError(f"say which figure: {', '.join(CHARTS)}")
    check_chart(name)
    form = _form(output, data_format, force=force)
    with Run.read(run_to_read(run_path, run_argument)) as run:
        chart = chart_data(name, run, ChartOptions(**shown))
    for note in filter(None, (*chart.notes, certainty_line(chart.certainties or {}))):
        echo_err(f"note: {note}")
    if form in DATA_FORMATS:
        write_output([chart_csv(chart) if form == "csv" else chart_json(chart)], output)
        return
    write_output(drawn(chart, cast("ChartFormat", form), cast("Medium", medium)), output)


def _form(output: Path | None, data_format: str | None, *, force: bool) -> str:
    """What to write: as it is asked for, else as the output is named."""
    from replay.charts.matplotlib_ import ChartFormat

    if output is None and data_format is None:
        raise UsageError("say where to: -o FILE.svg, .png or .pdf; or print the numbers with --data csv")
    return output_format(data_format, output, (*get_args(ChartFormat), *DATA_FORMATS), "csv", "--data", force=force)
