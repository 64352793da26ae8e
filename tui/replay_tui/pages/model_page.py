"""What the comparison has of one model: every figure with its interval, its spread, and whom it differs from."""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment

from replay.charts.style import value_text
from replay.records.model_comparison import ComparedModel, Figure, Measure, ModelComparison
from replay.reports.compare import difference_text, interval_text
from replay.safety.text import one_line
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import Palette

_NAME = 20
_MAX_DIFFERENCES = 20


def model_page(found: ModelComparison, model: ComparedModel, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    metric = next((measure for measure in found.measures if measure.id == found.metric), None)
    if found.strata is not None and metric is not None:
        writer.heading(f"{metric.label} by {found.strata.by}", "with 95 % intervals")
        for name, figure in _of_strata(found, model):
            _figure(writer, name, metric, figure)
    _differences(writer, found, model, metric)
    writer.heading("Figures", "with 95 % intervals; n: calls of shares, tasks of means")
    for measure in found.measures:
        _figure(writer, measure.label, measure, model.figures.get(measure.id))
        spread = (model.spread or {}).get(measure.id)
        if spread is not None:
            runs = ", ".join(value_text(measure.kind, value) for value in spread.values[:8])
            text = f"{len(spread.values)} runs: {runs}; standard deviation {value_text(measure.kind, spread.deviation)}"
            writer.prose(text, styles.dim, indent=_NAME + 1)
    if found.notes:
        writer.heading("Notes")
        for note in found.notes:
            writer.prose(note)
    return writer.rows


def _of_strata(found: ModelComparison, model: ComparedModel) -> Iterator[tuple[str, Figure | None]]:
    rows = found.strata.rows if found.strata else ()
    figures = {row.stratum: row.figures.get(found.metric) for row in rows if row.model == model.model}
    for name in found.strata.names if found.strata else ():
        yield name, figures.get(name)


def _figure(writer: Writer, name: str, measure: Measure, figure: Figure | None) -> None:
    style = writer.styles.text if figure is not None else writer.styles.faint
    lead = Segment(f"{fitted(one_line(name), _NAME)} ", writer.styles.dim)
    writer.rows.append([lead, Segment(interval_text(measure, figure), style)])


def _differences(writer: Writer, found: ModelComparison, model: ComparedModel, metric: Measure | None) -> None:
    pairs = [pair for pair in found.differences if model.model in (pair.first, pair.second)]
    if metric is None or not pairs:
        return
    sure = [pair for pair in pairs if pair.beyond_chance]
    writer.heading(f"Differences in {metric.label}", f"{len(sure)} of {len(pairs)} beyond chance, paired over tasks")
    for pair in sure[:_MAX_DIFFERENCES]:
        writer.prose(difference_text(pair, metric))
    if len(sure) > _MAX_DIFFERENCES:
        writer.prose(f"and {len(sure) - _MAX_DIFFERENCES} more", writer.styles.dim)
