"""The calls of a task on two sides, place by place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment

from replay.charts.style import value_text
from replay.records.comparison import ComparedModel, Figure, Measure, ModelComparison
from replay.reports.compare import difference_text, interval_text
from replay.runfile.compare_queries import CallPair
from replay.safety.text import one_line
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import Palette


def calls_page(names: tuple[str, str], pairs: Sequence[CallPair], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    half = (writer.width - 5) // 2
    titles = [Segment(fitted(name, half), styles.dim) for name in names]
    writer.rows.append([titles[0], Segment("     "), titles[1]])
    for pair in pairs:
        row: Row = []
        mark = " ≠ " if pair.changed else " = " if pair.calls[0] == pair.calls[1] else "   "
        for number, call in enumerate(pair.calls):
            if number:
                row.append(Segment(f" {mark} ", styles.accent if pair.changed else styles.faint))
            if call is None:
                row.append(Segment(fitted("–", half), styles.faint))
                continue
            position, tool, outcome = call
            row.append(Segment(outcome.letter, styles.outcome(outcome)))
            row.append(
                Segment(
                    " " + fitted(f"{position:<7} {tool or '(no name)'}", half - 2), None if pair.changed else styles.dim
                )
            )
        writer.rows.append(row)
    return writer.rows


_NAME = 20
_MAX_DIFFERENCES = 20


def model_page(comparison: ModelComparison, model: ComparedModel, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    metric = next((measure for measure in comparison.measures if measure.id == comparison.metric), None)
    if comparison.strata is not None and metric is not None:
        writer.heading(f"{metric.label} by {comparison.strata.by}", "with 95 % intervals")
        for name, figure in _of_strata(comparison, model):
            _figure(writer, name, metric, figure)
    _differences(writer, comparison, model, metric)
    writer.heading("Figures", "with 95 % intervals; n: calls of shares, tasks of means")
    for measure in comparison.measures:
        _figure(writer, measure.label, measure, model.figures.get(measure.id))
        spread = (model.spread or {}).get(measure.id)
        if spread is not None:
            runs = ", ".join(value_text(measure.kind, value) for value in spread.values[:8])
            text = f"{len(spread.values)} runs: {runs}; standard deviation {value_text(measure.kind, spread.deviation)}"
            writer.prose(text, styles.dim, indent=_NAME + 1)
    if comparison.notes:
        writer.heading("Notes")
        for note in comparison.notes:
            writer.prose(note)
    return writer.rows


def _of_strata(comparison: ModelComparison, model: ComparedModel) -> Iterator[tuple[str, Figure | None]]:
    rows = comparison.strata.rows if comparison.strata else ()
    figures = {row.stratum: row.figures.get(comparison.metric) for row in rows if row.model == model.model}
    for name in comparison.strata.names if comparison.strata else ():
        yield name, figures.get(name)


def _figure(writer: Writer, name: str, measure: Measure, figure: Figure | None) -> None:
    style = writer.styles.text if figure is not None else writer.styles.faint
    lead = Segment(f"{fitted(one_line(name), _NAME)} ", writer.styles.dim)
    writer.rows.append([lead, Segment(interval_text(measure, figure), style)])


def _differences(writer: Writer, comparison: ModelComparison, model: ComparedModel, metric: Measure | None) -> None:
    pairs = [pair for pair in comparison.differences if model.model in (pair.first, pair.second)]
    if metric is None or not pairs:
        return
    sure = [pair for pair in pairs if pair.beyond_chance]
    writer.heading(f"Differences in {metric.label}", f"{len(sure)} of {len(pairs)} beyond chance, paired over tasks")
    for pair in sure[:_MAX_DIFFERENCES]:
        writer.prose(difference_text(pair, metric))
    if len(sure) > _MAX_DIFFERENCES:
        writer.prose(f"and {len(sure) - _MAX_DIFFERENCES} more", writer.styles.dim)
