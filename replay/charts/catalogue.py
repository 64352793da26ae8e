"""The charts that there are, by name: the numbers of each, and what they are written as."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from replay.charts.counts import (
    error_multiples,
    model_finding,
    model_server,
    outcomes,
    tool_outcome,
    trajectory_finding,
)
from replay.charts.metrics import leaderboard, metric_by_type, supported
from replay.charts.options import ChartOptions
from replay.errors import UsageError
from replay.records import UNFOUNDED
from replay.records.chart import CHART_FORMAT, CHART_VERSION, Chart
from replay.runfile import Run
from replay.runfile.summary import certainties
from replay.safety.redaction import Redactor
from replay.safety.text import csv_line
from replay.suggestions import nearest_name

CHARTS: Final[Mapping[str, Callable[[Run, ChartOptions], Chart]]] = {
    "error-multiples": error_multiples,
    "leaderboard": leaderboard,
    "metric-by-type": metric_by_type,
    "model-finding": model_finding,
    "model-server": model_server,
    "outcomes": outcomes,
    "supported": supported,
    "tool-outcome": tool_outcome,
    "trajectory-finding": trajectory_finding,
}
"""What gathers the numbers of each chart."""
CSV_COLUMNS: Final = ("row", "column", "value", "low", "high", "count", "total", "run_unfounded")
"""A line a cell; new columns are only ever added at the end. The last one: how many verdicts of the whole run rest on
nothing, on each line."""


def chart_data(name: str, run: Run, options: ChartOptions) -> Chart:
    """The numbers of a chart, and how certain the verdicts are that they come from.

    Raises:
        UsageError: there is no such chart, or the run has not what it shows.
    """
    check_chart(name)
    return CHARTS[name](run, options).model_copy(update={"certainties": certainties(run.connection)})


def check_chart(name: str) -> None:
    """See that there is a chart of this name.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    if name not in CHARTS:
        nearest = nearest_name(name, CHARTS)
        meant = f"; did you mean {nearest}?" if nearest else ""
        raise UsageError(f"there is no figure {name!r}{meant}; there are {', '.join(CHARTS)}")


def chart_json(chart: Chart) -> str:
    """`{"format": "replay.figure", "version": 1, ...}`."""
    document = {"format": CHART_FORMAT, "version": CHART_VERSION, **chart.model_dump(mode="json")}
    return json.dumps(Redactor().json(document), ensure_ascii=True, indent=1) + "\n"


def chart_csv(chart: Chart) -> str:
    """A header, and a line a cell."""
    redactor = Redactor()
    unfounded = None if chart.certainties is None else chart.certainties.get(UNFOUNDED, 0)
    lines = [csv_line(CSV_COLUMNS)]
    for row, row_name in enumerate(chart.rows):
        for column, column_name in enumerate(chart.columns):
            names = redactor.text(row_name), redactor.text(column_name)
            count = chart.counts[row][column] if chart.counts is not None else None
            total = chart.totals[row] if chart.totals is not None else None
            value = chart.values[row][column]
            lines.append(csv_line([*names, value, *chart.ends(row, column), count, total, unfounded]))
    return "".join(lines)
