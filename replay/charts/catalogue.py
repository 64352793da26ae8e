"""The charts that there are, by name: the numbers of each, and what they are written as."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, NamedTuple

from replay.charts.counts import (
    error_distribution,
    error_multiples,
    model_finding,
    model_server,
    outcomes,
    tool_outcome,
    trajectory_finding,
)
from replay.charts.metrics import leaderboard, metric_by_type
from replay.charts.options import ChartOptions
from replay.errors import UsageError
from replay.records.chart import CHART_FORMAT, CHART_VERSION, Chart
from replay.runfile import Run
from replay.safety.redaction import Redactor
from replay.safety.text import csv_line
from replay.suggestions import nearest_name


class ChartKind(NamedTuple):
    """One chart."""

    gather: Callable[[Run, ChartOptions], Chart]
    shows: str


CHARTS: Final = {
    "error-distribution": ChartKind(
        error_distribution, "How the judged calls of each model came out: stacked bars of shares."
    ),
    "error-multiples": ChartKind(error_multiples, "The failures by kind, a panel a model."),
    "leaderboard": ChartKind(leaderboard, "The models by average score, else by well-formed calls, with intervals."),
    "metric-by-type": ChartKind(metric_by_type, "A metric by type of task: a dot a model, with intervals."),
    "model-finding": ChartKind(model_finding, "Which model makes which mistake: a heat map."),
    "model-server": ChartKind(model_server, "Which model fails at which server: a heat map."),
    "outcomes": ChartKind(outcomes, "All calls of each model by outcome, as on the page: stacked bars of counts."),
    "tool-outcome": ChartKind(tool_outcome, "How the calls to each tool came out: a heat map."),
    "trajectory-finding": ChartKind(
        trajectory_finding, "In how many trajectories a kind of finding stands, as on the page: a heat map."
    ),
}
CSV_COLUMNS: Final = ("row", "column", "value", "low", "high", "count", "total")
"""A line a cell; new columns are only ever added at the end."""


def chart_data(name: str, run: Run, options: ChartOptions) -> Chart:
    """The numbers of a chart.

    Raises:
        UsageError: there is no such chart, or the run has not what it shows.
    """
    return kind_of(name).gather(run, options)


def kind_of(name: str) -> ChartKind:
    """The chart of this name.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    if name not in CHARTS:
        nearest = nearest_name(name, CHARTS)
        raise UsageError(f"there is no figure {name!r}; did you mean {nearest}? there are {', '.join(CHARTS)}")
    return CHARTS[name]


def chart_json(chart: Chart) -> str:
    """`{"format": "replay.figure", "version": 1, ...}`."""
    document = {"format": CHART_FORMAT, "version": CHART_VERSION, **chart.model_dump(mode="json")}
    return json.dumps(Redactor().json(document), ensure_ascii=True, indent=1) + "\n"


def chart_csv(chart: Chart) -> str:
    """A header, and a line a cell."""
    redactor = Redactor()
    lines = [csv_line(CSV_COLUMNS)]
    for row, row_name in enumerate(chart.rows):
        for column, column_name in enumerate(chart.columns):
            names = redactor.text(row_name), redactor.text(column_name)
            count = chart.counts[row][column] if chart.counts is not None else None
            total = chart.totals[row] if chart.totals is not None else None
            lines.append(csv_line([*names, chart.values[row][column], *chart.ends(row, column), count, total]))
    return "".join(lines)
