"""Which model fails at which server."""

from __future__ import annotations

from collections import Counter

from replay.charts.options import FigureOptions, chosen_models, one_model_note
from replay.records import FAILURES, Outcome
from replay.records.figure import FigureData
from replay.runfile import Run
from replay.runfile.summary import breakdown, model_counts


def gather(run: Run, options: FigureOptions) -> FigureData:
    """The share of the judged calls that failed, by model and server; the servers with most failures first."""
    models = [model.model for model in chosen_models(run, options)]
    judged: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for counts in model_counts(run.connection):
        if counts.model in models and counts.files:
            for group in breakdown(run.connection, "server", counts.files):
                key = counts.model, group.names[0] or "(no server)"
                judged[key] += sum(group.outcomes.values()) - group.outcomes.get(Outcome.INCONCLUSIVE, 0)
                failed[key] += sum(group.outcomes.get(outcome, 0) for outcome in FAILURES)
    servers = {server for _, server in judged if any(judged[model, server] for model in models)}
    ordered = sorted(servers, key=lambda name: (-sum(failed[model, name] for model in models), name))[: options.rows]
    more = len(servers) - len(ordered)
    return FigureData(
        figure="model-server",
        title="Failures by model and server",
        measure="share of the judged calls that failed",
        row_name="model",
        column_name="server",
        rows=tuple(models),
        columns=tuple(ordered),
        values=tuple(
            tuple(failed[model, name] / judged[model, name] if judged[model, name] else None for name in ordered)
            for model in models
        ),
        counts=tuple(tuple(failed[model, name] for name in ordered) for model in models),
        notes=(*one_model_note(models), *([f"{more} more servers are not shown (--rows)."] if more > 0 else [])),
    )
