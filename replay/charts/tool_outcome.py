"""How the calls to each tool came out."""

from __future__ import annotations

from replay.charts.options import FigureOptions, chosen_models
from replay.charts.palette import ORDER
from replay.records import Outcome, qualified_name
from replay.records.figure import FigureData
from replay.runfile import Run
from replay.runfile.summary import breakdown, failed, model_counts


def gather(run: Run, options: FigureOptions) -> FigureData:
    """Shares of the judged calls of each tool, those with most failures first."""
    wanted = {model.model for model in chosen_models(run, options)}
    files = [file for counts in model_counts(run.connection) if counts.model in wanted for file in counts.files]
    groups = [group for group in breakdown(run.connection, "tool", files) if failed(group.outcomes)]
    shown = groups[: options.rows]
    totals = [sum(group.outcomes.values()) - group.outcomes.get(Outcome.INCONCLUSIVE, 0) for group in shown]
    more = len(groups) - len(shown)
    return FigureData(
        figure="tool-outcome",
        title="Tools that failed, by outcome",
        measure="share of the tool's judged calls",
        row_name="tool",
        column_name="outcome",
        rows=tuple(qualified_name(*group.names) or "(no name)" for group in shown),
        columns=tuple(outcome.label for outcome in ORDER),
        values=tuple(
            tuple(group.outcomes.get(outcome, 0) / total for outcome in ORDER)
            for group, total in zip(shown, totals, strict=True)
        ),
        counts=tuple(tuple(group.outcomes.get(outcome, 0) for outcome in ORDER) for group in shown),
        totals=tuple(totals),
        notes=(f"{more} more tools with failures are not shown (--rows).",) if more > 0 else (),
    )
