"""Charts of what was counted: outcomes by model, tool and server, and findings by model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from replay.analysis.known_failures import failed_calls
from replay.charts.options import ChartOptions, best_first, chosen_models, cut_off, judged_calls, one_model_note, shares
from replay.records import FAILURES, Outcome, qualified_name
from replay.records.chart import Chart
from replay.records.comparison import ComparedModel
from replay.records.summary import ModelSummary
from replay.runfile import Run
from replay.runfile.summary import breakdown, failed, model_counts
from replay.runfile.task_runs import finding_counts

ORDER: Final = tuple(outcome for outcome in reversed(Outcome) if outcome is not Outcome.INCONCLUSIVE)
"""The outcomes that count, as a bar shows them from left to right."""


def outcomes(run: Run, options: ChartOptions) -> Chart:
    """Shares of all calls, by model, the undecided ones too; best model first: after the M3-Bench paper's figure 6."""
    models = best_first(chosen_models(run, options))
    chart = outcomes_of(models)
    values = tuple(
        row if _is_decided(model) else (*(None for _ in row[:-1]), row[-1])
        for model, row in zip(models, chart.values, strict=True)
    )
    return chart.model_copy(update={"values": values, "notes": (*chart.notes, *_undecided_note(models))})


def outcomes_of(models: Sequence[ModelSummary | ComparedModel]) -> Chart:
    """The chart `outcomes` of models that are counted already."""
    counts = tuple(tuple(model.outcomes[outcome] for outcome in (*ORDER, Outcome.INCONCLUSIVE)) for model in models)
    totals = tuple(model.calls for model in models)
    return Chart(
        figure="outcomes",
        title="How the calls of each model were judged",
        measure="share of the calls",
        row_name="model",
        column_name="outcome",
        rows=tuple(model.model for model in models),
        columns=tuple(map(str, (*ORDER, Outcome.INCONCLUSIVE))),
        values=shares(counts, totals),
        counts=counts,
        totals=totals,
        notes=one_model_note(models),
    )


FEWEST_DECIDED: Final = 0.1
"""The share of a model's calls that must be decided for shares of them to be drawn."""


def _is_decided(model: ModelSummary) -> bool:
    return model.conclusive >= FEWEST_DECIDED * model.calls


def _undecided_note(models: Sequence[ModelSummary]) -> tuple[str, ...]:
    names = [model.model for model in models if not _is_decided(model)]
    return (f"Fewer than a tenth of the calls are decided, no shares: {', '.join(names)}.",) if names else ()


def error_multiples(run: Run, options: ChartOptions) -> Chart:
    """Shares of the judged calls that failed, by model and outcome: the M3-Bench paper's figure 1."""
    models = best_first(chosen_models(run, options))
    unjudged = sum(model.outcomes[Outcome.INCONCLUSIVE] for model in models)
    note = f"{unjudged} inconclusive calls count in no category." if unjudged else None
    counts = tuple(tuple(model.outcomes[outcome] for outcome in FAILURES) for model in models)
    totals = tuple(model.conclusive for model in models)
    return Chart(
        figure="error-multiples",
        title="Failures by kind",
        measure="share of the judged calls",
        row_name="model",
        column_name="outcome",
        rows=tuple(model.model for model in models),
        columns=tuple(map(str, FAILURES)),
        values=tuple(
            row if _is_decided(model) else tuple(None for _ in row)
            for model, row in zip(models, shares(counts, totals), strict=True)
        ),
        counts=counts,
        totals=totals,
        notes=(*one_model_note(models), *([note] if note else []), *_undecided_note(models)),
    )


def model_server(run: Run, options: ChartOptions) -> Chart:
    """The share of the judged calls that failed, by model and server; the servers with most failures first."""
    models = [model.model for model in chosen_models(run, options)]
    judged: Counter[tuple[str, str]] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    for counts in model_counts(run.connection):
        if counts.model in models and counts.files:
            for group in breakdown(run.connection, "server", counts.files):
                key = counts.model, group.names[0] or "(no server)"
                judged[key] += judged_calls(group.outcomes)
                failures[key] += failed(group.outcomes)
    servers = {server for (_, server), calls in judged.items() if calls}
    ordered = sorted(servers, key=lambda name: (-sum(failures[model, name] for model in models), name))
    columns, note = cut_off(ordered, options.rows, "servers")
    return Chart(
        figure="model-server",
        title="Failures by model and server",
        measure="share of the judged calls that failed",
        row_name="model",
        column_name="server",
        rows=tuple(models),
        columns=columns,
        values=tuple(
            tuple(failures[model, name] / judged[model, name] if judged[model, name] else None for name in columns)
            for model in models
        ),
        counts=tuple(tuple(failures[model, name] for name in columns) for model in models),
        cell_totals=tuple(tuple(judged[model, name] for name in columns) for model in models),
        notes=(*one_model_note(models), *note),
    )


def tool_outcome(run: Run, options: ChartOptions) -> Chart:
    """Shares of the judged calls of each tool, those with most failures first."""
    wanted = {model.model for model in chosen_models(run, options)}
    files = [file for counts in model_counts(run.connection) if counts.model in wanted for file in counts.files]
    groups, note = cut_off(
        [group for group in breakdown(run.connection, "tool", files) if failed(group.outcomes)],
        options.rows,
        "tools with failures",
    )
    counts = tuple(tuple(group.outcomes.get(outcome, 0) for outcome in ORDER) for group in groups)
    totals = tuple(judged_calls(group.outcomes) for group in groups)
    return Chart(
        figure="tool-outcome",
        title="Tools that failed, by outcome",
        measure="share of the tool's judged calls",
        row_name="tool",
        column_name="outcome",
        rows=tuple(qualified_name(*group.names) or "(no name)" for group in groups),
        columns=tuple(outcome.label for outcome in ORDER),
        values=shares(counts, totals),
        counts=counts,
        totals=totals,
        notes=note,
    )


def model_finding(run: Run, options: ChartOptions) -> Chart:
    """The most telling finding of each failed call, as shares of the model's judged calls."""
    counts = Counter(
        (call.ref.model, call.finding.kind if call.finding else str(call.row.outcome)) for call in failed_calls(run)
    )
    totals = {model.model: model.conclusive for model in chosen_models(run, options)}
    return trajectory_finding_of(counts, totals, options.rows).model_copy(
        update={
            "figure": "model-finding",
            "title": "Findings by model",
            "measure": "share of the model's judged calls",
        }
    )


def trajectory_finding(run: Run, options: ChartOptions) -> Chart:
    """In how many trajectories of each model a kind of finding stands."""
    counts = {(row.model, row.kind): row.trajectories for row in finding_counts(run.connection)}
    totals = {model.model: model.trajectories for model in chosen_models(run, options)}
    return trajectory_finding_of(counts, totals, options.rows)


def trajectory_finding_of(counts: Mapping[tuple[str, str], int], totals: Mapping[str, int], most: int) -> Chart:
    """The chart `trajectory-finding` of what is counted already.

    Args:
        counts: trajectories, by model and kind of finding.
        totals: all trajectories of each model.
        most: kinds, the most frequent ones.
    """
    names = tuple(totals)
    frequency: Counter[str] = Counter()
    for (name, kind), count in counts.items():
        if name in totals:
            frequency[kind] += count
    columns, note = cut_off(sorted(frequency, key=lambda kind: (-frequency[kind], kind)), most, "findings")
    cells = tuple(tuple(counts.get((name, kind), 0) for kind in columns) for name in names)
    return Chart(
        figure="trajectory-finding",
        title="Trajectories with each kind of finding",
        measure="share of the model's trajectories",
        row_name="model",
        column_name="finding",
        rows=names,
        columns=columns,
        values=shares(cells, tuple(totals.values())),
        counts=cells,
        totals=tuple(totals.values()),
        notes=(*one_model_note(names), *note),
    )
