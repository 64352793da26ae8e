"""Figures of several models for a page: a leaderboard and a heat map of findings, as wide and as narrow drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from replay.records.comparison import FindingOfModel, Measure, MeasureKind, ModelComparison
from replay.records.figure import FigureData
from replay.reports.compare_text import value_text
from replay.safety.text import one_line, printable

MAX_KINDS: Final = 12
"""Columns of the heat map."""
_MIN_TOP: Final = 1e-9


class RankedModel(NamedTuple):
    """A bar of the leaderboard."""

    name: str
    value: float | None
    low: float | None
    high: float | None


class Cells(NamedTuple):
    """What a heat map shows."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    totals: tuple[int, ...]
    """What the counts of each row are shares of."""


def ranked(found: ModelComparison) -> tuple[Measure | None, list[RankedModel]]:
    """The models of a comparison by its metric, in its order."""
    measure = next((one for one in found.measures if one.id == found.metric), None)
    figures = [(one.model, one.figures.get(found.metric)) for one in found.models]
    return measure, [
        RankedModel(name, *((figure.value, figure.low, figure.high) if figure else (None, None, None)))
        for name, figure in figures
    ]


def ranked_of(data: FigureData) -> tuple[Measure, list[RankedModel]]:
    """The models of the figure `leaderboard`."""
    kind: MeasureKind = "mean" if data.counts is None else "share"
    measure = Measure(id="leaderboard", label=data.columns[0], kind=kind, about=data.measure)
    ends = [cells if cells is not None else ((None,),) * len(data.rows) for cells in (data.low, data.high)]
    rows = zip(data.rows, data.values, *ends, strict=True)
    return measure, [RankedModel(name, value[0], low[0], high[0]) for name, value, low, high in rows]


def finding_cells(models: Sequence[tuple[str, int]], findings: Iterable[FindingOfModel]) -> Cells:
    """In how many trajectories of each model which kind of finding stands; the most frequent kinds alone.

    Args:
        models: each with its number of trajectories.
        findings: of these models.
    """
    counts = {(row.kind, row.model): row.trajectories for row in findings}
    names = tuple(name for name, _ in models)
    wanted, totals = set(names), Counter[str]()
    for (kind, name), trajectories in counts.items():
        if name in wanted:
            totals[kind] += trajectories
    kinds = tuple(sorted(totals, key=lambda kind: (-totals[kind], kind))[:MAX_KINDS])
    rows = tuple(tuple(counts.get((kind, name), 0) for kind in kinds) for name in names)
    return Cells(names, kinds, rows, tuple(total for _, total in models))


def leaderboard(measure: Measure, models: Sequence[RankedModel], *, narrow: bool = False) -> Markup:
    """A bar a model with its 95 % interval and its value.

    Args:
        measure: what they are ranked by.
        models: in the order of the rows.
        narrow: for a page as wide as a telephone: names stand above the bars.
    """
    width, label, bar, row = (360, 16, 250, 46) if narrow else (960, 230, 600, 28)
    above = 18 if narrow else 0
    top = _top(measure, models)
    words = "; ".join(
        f"{_name(one.name)}: {value_text(measure, one.value) if one.value is not None else 'not known'}"
        for one in models
    )
    parts = [*_opening("leaderboard", f"{measure.label}, with 95 % intervals", words, width, row * len(models) + 12)]
    for number, one in enumerate(models):
        y = number * row + 4
        name = f"{number + 1}. {escape(_name(one.name))}"
        x, anchor = (label, "start") if narrow else (label - 12, "end")
        parts.append(f'<text x="{x}" y="{y + 14}" text-anchor="{anchor}">{name}</text>')
        parts += _ranked_bar(measure, one, label, y + above, bar / top)
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704 - every text in it is escaped


def heat_map(cells: Cells, *, narrow: bool = False) -> Markup:
    """A cell a model and kind of finding: in how many trajectories; the darker, the greater the share.

    Args:
        cells: what it shows.
        narrow: for a page as wide as a telephone.
    """
    width, label = (360, 112) if narrow else (960, 230)
    columns = max(len(cells.columns), 1)
    size = min((width - label - (8 if narrow else 120)) / columns, 60.0)
    longest = max((len(name) for name in cells.columns), default=0)
    head = 16 + (7.4 if narrow else 5.0) * longest
    row = 22 if narrow else 26
    words = "; ".join(
        f"{_name(name)}: "
        + ", ".join(f"{count} {kind}" for kind, count in zip(cells.columns, counts, strict=True) if count)
        for name, counts in zip(cells.rows, cells.counts, strict=True)
    )
    height = head + row * len(cells.rows) + 10
    parts = [*_opening("heat", "In how many trajectories of each model a kind of finding stands", words, width, height)]
    for place, kind in enumerate(cells.columns):
        x, y = label + (place + 0.5) * size + 4, head - 6
        turn = -90 if narrow else -40
        parts.append(f'<text x="{x:.1f}" y="{y}" transform="rotate({turn} {x:.1f} {y})">{escape(kind)}</text>')
    for number, (name, counts, total) in enumerate(zip(cells.rows, cells.counts, cells.totals, strict=True)):
        y = head + number * row
        shown = escape(one_line(printable(name), 12 if narrow else 30))
        parts.append(f'<text x="{label - 8}" y="{y + row / 2 + 5}" text-anchor="end">{shown}</text>')
        for place, count in enumerate(counts):
            title = f"{_name(name)}, {cells.columns[place]}: {count} of {total} trajectories"
            parts += _cell(label + place * size, y, size, row, count, total, title)
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704 - every text in it is escaped


def _cell(x: float, y: float, size: float, row: float, count: int, total: int, title: str) -> Iterator[str]:
    share = count / total if total else 0.0
    place = f'x="{x:.1f}" y="{y:.1f}" width="{size - 2:.1f}" height="{row - 2}"'
    yield f'<g><title>{escape(title)}</title><rect {place} class="frame"/>'
    yield f'<rect {place} class="heat" fill-opacity="{0.6 * min(share, 1):.3f}"/>' if count else ""
    style = "" if count else ' class="mute"'
    words = count or "·"
    yield f'<text{style} x="{x + size / 2 - 1:.1f}" y="{y + row / 2 + 4}" text-anchor="middle">{words}</text></g>'


def _ranked_bar(measure: Measure, one: RankedModel, left: float, y: float, scale: float) -> Iterator[str]:
    if one.value is None:
        yield f'<text class="mute" x="{left + 4}" y="{y + 14}">not known</text>'
        return
    ends = (one.low, one.high)
    shown = value_text(measure, one.value)
    between = f" [{', '.join(value_text(measure, end) for end in ends if end is not None)}]" if None not in ends else ""
    yield f"<g><title>{escape(_name(one.name))}: {shown}{between}</title>"
    place = f'x="{left}" y="{y}" width="{one.value * scale:.1f}" height="18"'
    yield f'<rect {place} class="heat" fill-opacity=".35"/><rect {place} class="frame"/>'
    reach = one.value
    if one.low is not None and one.high is not None:
        low, high, middle = left + one.low * scale, left + one.high * scale, y + 9
        yield f'<path d="M{low:.1f} {middle} H{high:.1f} M{low:.1f} {middle - 4} v8 M{high:.1f} {middle - 4} v8" '
        yield 'class="interval"/>'
        reach = max(reach, one.high)
    yield f'<text class="count" x="{left + reach * scale + 8:.1f}" y="{y + 14}">{shown}</text></g>'


def _top(measure: Measure, models: Sequence[RankedModel]) -> float:
    """The end of the scale: 1 for what lies between 0 and 1."""
    ends = [end for one in models for end in (one.value, one.high) if end is not None]
    greatest = max(ends, default=0.0)
    return 1.0 if measure.kind == "share" else max(greatest, _MIN_TOP) if greatest > 1 else 1.0


def _opening(name: str, title: str, words: str, width: float, height: float) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="replay-figure" viewBox="0 0 {width} {height:.0f}"'
    yield f' role="img" aria-label="{escape(title)}"><title>{escape(title)}</title><desc>{escape(words)}</desc>'


def _name(name: str) -> str:
    return one_line(printable(name), 30)
