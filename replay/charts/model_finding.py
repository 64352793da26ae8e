"""Which model makes which mistake: the most telling finding of each failed call."""

from __future__ import annotations

from collections import Counter

from replay.analysis.fingerprint import failed_calls
from replay.charts.options import FigureOptions, chosen_models, one_model_note
from replay.records.figure import FigureData
from replay.runfile import Run


def gather(run: Run, options: FigureOptions) -> FigureData:
    """Shares of each model's judged calls, the most frequent findings first."""
    models = chosen_models(run, options)
    names = [model.model for model in models]
    counts: Counter[tuple[str, str]] = Counter()
    for call in failed_calls(run):
        counts[call.ref.model, call.finding.kind if call.finding else str(call.row.outcome)] += 1
    kinds = {kind for model, kind in counts if model in names}
    ordered = sorted(kinds, key=lambda kind: (-sum(counts[name, kind] for name in names), kind))[: options.rows]
    more = len(kinds) - len(ordered)
    return FigureData(
        figure="model-finding",
        title="Findings by model",
        measure="share of the model's judged calls",
        row_name="model",
        column_name="finding",
        rows=tuple(names),
        columns=tuple(ordered),
        values=tuple(
            tuple(counts[model.model, kind] / model.conclusive if model.conclusive else None for kind in ordered)
            for model in models
        ),
        counts=tuple(tuple(counts[model.model, kind] for kind in ordered) for model in models),
        totals=tuple(model.conclusive for model in models),
        notes=(*one_model_note(names), *([f"{more} more findings are not shown (--rows)."] if more > 0 else [])),
    )
