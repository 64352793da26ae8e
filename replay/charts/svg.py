"""Charts as SVG, for pages and for files that not only browsers read: all text escaped, in two widths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

from replay.charts.style import FRAME, INK, MUTE, OUTCOME_COLOURS, ranked_kind, value_text
from replay.records import Outcome
from replay.records.chart import FEW, Chart
from replay.safety.text import one_line

_MAX_NAME: Final = 30


@dataclass(frozen=True)
class _Form:
    """Where things stand, in units of the drawing."""

    name: str
    """What its ids begin with: a page may hold both forms."""
    width: int
    label: int
    """Where the bars begin."""
    bar: int
    row: int
    top: int
    """Where the first row begins."""
    legend: int
    legend_columns: int = 0
    """0: all in one line."""
    above: int = 0
    """How far the names stand above their bars; 0: beside them."""


WIDE: Final = _Form("figure", width=960, label=244, bar=620, row=34, top=64, legend=24)
NARROW: Final = _Form("narrow", width=360, label=16, bar=318, row=58, top=88, legend=16, legend_columns=2, above=20)
_MARKS: Final = {
    Outcome.SUCCESS: "",
    Outcome.NOT_FOUND: '<circle cx="2.5" cy="2.5" r="1.4" class="ink"/>',
    Outcome.INVALID_ARGUMENTS: '<path d="M-2 8 L8 -2 M3 13 L13 3" class="line"/>',
    Outcome.UNKNOWN_TOOL: '<path d="M0 0 L10 10 M10 0 L0 10" class="line"/>',
    Outcome.ILLEGAL_FORMAT: '<path d="M5 0 V10 M0 5 H10" class="thick"/>',
    Outcome.INCONCLUSIVE: '<path d="M0 5 H10" class="line"/>',
}
"""What each outcome is hatched with, on a tile of 10 by 10."""
_LIGHT: Final = {
    "ink": INK, "paper": "#ffffff", "mute": MUTE, "frame": FRAME, "heat": "#2a5f9e",
    **{f"o-{outcome}": colour for outcome, colour in OUTCOME_COLOURS.items()},
}  # fmt: skip
_DARK: Final = {
    "ink": "#f0f3f6", "paper": "#11161d", "mute": "#a6b0bb", "frame": "#6e7a87", "heat": "#6ea8e5",
    "o-success": "#235c38",
    "o-not_found": "#7a5b12", "o-invalid_arguments": "#8a4120", "o-unknown_tool": "#6f3a63",
    "o-illegal_format": "#36508a", "o-inconclusive": "#2b323b",
}  # fmt: skip
_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "mute": {"fill": "var(--mute)"},
    "paper": {"fill": "var(--paper)"},
    "ink": {"fill": "var(--ink)", "opacity": ".75"},
    "line": {"stroke": "var(--ink)", "stroke-width": "1", "opacity": ".6", "fill": "none"},
    "thick": {"stroke": "var(--ink)", "stroke-width": "1.8", "opacity": ".7", "fill": "none"},
    "frame": {"fill": "none", "stroke": "var(--frame)", "stroke-width": "1"},
    "count": {"font-weight": "600"},
    "heat": {"fill": "var(--heat)"},
    "interval": {"stroke": "var(--ink)", "stroke-width": "1.3", "fill": "none"},
    "halo": {"stroke": "var(--paper)", "stroke-width": "3.5"},
}
"""How each class is drawn: rules of a style sheet in a page, attributes in a file, which not only browsers read."""
_ROOT: Final = {"font-family": "system-ui, sans-serif", "font-size": "13px", "fill": "var(--ink)"}
_CLASSES: Final[Mapping[str, Mapping[str, str]]] = {"replay-figure": _ROOT, **_ATTRIBUTES}


def _rules(attributes: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in attributes.items())


def _colours(palette: Mapping[str, str]) -> str:
    return ".replay-figure, .badge {" + _rules({f"--{name}": colour for name, colour in palette.items()}) + "}"


STYLE: Final = "\n".join(
    [
        _colours(_LIGHT),
        "@media (prefers-color-scheme: dark) {" + _colours(_DARK) + "}",
        ".replay-figure {" + _rules(_ROOT) + "}",
        *(f".replay-figure .{name} {{{_rules(attributes)}}}" for name, attributes in _ATTRIBUTES.items()),
    ]
)
"""The page that holds the drawings carries it."""


def drawn(chart: Chart, *, narrow: bool = False) -> Markup:
    """One of the charts of a page: `outcomes`, `leaderboard`, `supported` or `trajectory-finding`.

    Args:
        chart: what to show.
        narrow: for a page as wide as a telephone: names stand above the bars.
    """
    return _DRAWINGS[chart.figure](chart, narrow=narrow)


def stacked_bars(chart: Chart, *, alone: bool = False, narrow: bool = False) -> Markup:
    """A bar a row, in it a segment an outcome, told apart by pattern as well as by colour.

    Args:
        chart: `outcomes`, with its counts.
        alone: the drawing needs no style sheet, and looks the same in every program.
        narrow: for a page as wide as a telephone.
    """
    form = NARROW if narrow else WIDE
    height = form.top + form.row * len(chart.rows) + 34
    rows = list(_counted(chart))
    words = _in_words(chart, [outcome.label for outcome in OUTCOME_COLOURS], 60)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="replay-figure" viewBox="0 0 {form.width} {height}"',
        f' role="img" aria-labelledby="{form.name}-title {form.name}-words">',
        f'<title id="{form.name}-title">{escape(chart.title)}</title>',
        f'<desc id="{form.name}-words">{escape(words)}</desc>',
        f'<rect class="paper" width="{form.width}" height="{height}"/>' if alone else "",
        *_patterns(form),
        *_legend(form),
        *(part for number, row in enumerate(rows) for part in _stacked_bar(*row, form.top + number * form.row, form)),
        *_axis(form.top + len(chart.rows) * form.row, form),
        "</svg>",
    ]
    text = "".join(parts)
    return Markup(_self_contained(text) if alone else text)  # noqa: S704 - every text in it is escaped


def _self_contained(svg: str) -> str:
    """The drawing with attributes in the place of classes, and colours in the place of variables."""

    def attributes(match: re.Match[str]) -> str:
        found = {key: value for name in match[1].split() for key, value in _CLASSES[name].items()}
        return " ".join(f'{key}="{value}"' for key, value in found.items())

    svg = re.sub(r'class="([\w -]+)"', attributes, svg)
    return re.sub(r'"var\(--([\w-]+)\)"', lambda match: f'"{_LIGHT[match[1]]}"', svg)


def _patterns(form: _Form) -> Iterator[str]:
    for outcome, marks in _MARKS.items():
        yield (
            f'<pattern id="{form.name}-{outcome}" width="10" height="10" patternUnits="userSpaceOnUse">'
            f'<rect width="10" height="10" fill="var(--o-{outcome})"/>{marks}</pattern>'
        )


def _legend(form: _Form) -> Iterator[str]:
    left, top = float(form.legend), 16
    for number, outcome in enumerate(OUTCOME_COLOURS):
        if form.legend_columns:
            left = form.legend + number % form.legend_columns * (form.width / form.legend_columns)
            top = 10 + number // form.legend_columns * 22
        yield f'<rect x="{left}" y="{top}" width="22" height="14" fill="url(#{form.name}-{outcome})"/>'
        yield f'<rect x="{left}" y="{top}" width="22" height="14" class="frame"/>'
        yield f'<text x="{left + 28}" y="{top + 12}">{outcome.letter} {outcome.label}</text>'
        left += 66 + 7.4 * len(outcome.label)


def _stacked_bar(name: str, counts: Sequence[int], total: int, top: float, form: _Form) -> Iterator[str]:
    label, calls = escape(one_line(name, _MAX_NAME)), f"{total} {'call' if total == 1 else 'calls'}"
    if form.above:
        yield f'<text x="{form.label}" y="{top + 14}">{label}</text>'
        yield f'<text class="mute" x="{form.label + form.bar}" y="{top + 14}" text-anchor="end">{calls}</text>'
    else:
        yield f'<text x="{form.label - 12}" y="{top + 18}" text-anchor="end">{label}</text>'
        yield f'<text class="mute" x="{form.label + form.bar + 10}" y="{top + 18}">{calls}</text>'
    top += form.above
    left = float(form.label)
    for outcome, count in zip(OUTCOME_COLOURS, counts, strict=True):
        if not count:
            continue
        width = form.bar * count / total
        box = f'x="{left:.2f}" y="{top + 2}" width="{width:.2f}" height="24"'
        yield f"<g><title>{outcome.label}: {count} of {total}</title>"
        yield f'<rect {box} fill="url(#{form.name}-{outcome})"/><rect {box} class="frame"/>'
        if width >= 9 * len(str(count)) + 8:
            middle = f'x="{left + width / 2:.2f}" y="{top + 19}" text-anchor="middle"'
            yield f'<text class="count halo" aria-hidden="true" {middle}>{count}</text>'
            yield f'<text class="count" {middle}>{count}</text>'
        yield "</g>"
        left += width


def _axis(top: float, form: _Form) -> Iterator[str]:
    for share in (0, 25, 50, 75, 100):
        left = form.label + form.bar * share / 100
        yield f'<path d="M{left} {top} v5" class="frame"/>'
        yield f'<text class="mute" x="{left}" y="{top + 20}" text-anchor="middle">{share} %</text>'


def ranked_bars(chart: Chart, *, narrow: bool = False) -> Markup:
    """A bar a row with its 95 % interval and its value.

    Args:
        chart: `leaderboard` or `supported`.
        narrow: for a page as wide as a telephone.
    """
    width, label, bar, row = (360, 16, 250, 46) if narrow else (960, 264, 570, 28)
    above = 18 if narrow else 0
    top = _top(chart)
    names = [one_line(name, _MAX_NAME) for name in chart.rows]
    values = [value for (value,) in chart.values]
    words = "; ".join(f"{name}: {_value(chart, value)}" for name, value in zip(names, values, strict=True))
    title = f"{chart.columns[0]}, with intervals: {chart.interval or '95 %'}"
    parts = [*_opening(title, words, width, row * len(names) + 12)]
    for number, name in enumerate(names):
        y = number * row + 4
        x, anchor = (label, "start") if narrow else (label - 12, "end")
        rank = f"{number + 1}. " if values[number] is not None else ""
        parts.append(f'<text x="{x}" y="{y + 14}" text-anchor="{anchor}">{rank}{escape(name)}</text>')
        parts += _ranked_bar(chart, number, name, label, y + above, bar / top)
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704 - every text in it is escaped


def _ranked_bar(chart: Chart, row: int, name: str, left: float, y: float, scale: float) -> Iterator[str]:
    value, (low, high) = chart.values[row][0], chart.ends(row)
    if value is None:
        yield f'<text class="mute" x="{left + 4}" y="{y + 14}">not known</text>'
        return
    shown, reach = _value(chart, value), value
    box = f'x="{left}" y="{y}" width="{value * scale:.1f}" height="18"'
    bar = f'<rect {box} class="heat" fill-opacity=".35"/><rect {box} class="frame"/>'
    if low is None or high is None:
        yield f"<g><title>{escape(name)}: {shown}</title>{bar}"
    else:
        between = f"[{_value(chart, low)}, {_value(chart, high)}]"
        start, end, middle = left + low * scale, left + high * scale, y + 9
        yield f"<g><title>{escape(name)}: {shown} {between}</title>{bar}"
        yield f'<path d="M{start:.1f} {middle} H{end:.1f} M{start:.1f} {middle - 4} v8 M{end:.1f} {middle - 4} v8" '
        yield 'class="interval"/>'
        reach = max(value, high)
    yield f'<text class="count" x="{left + reach * scale + 8:.1f}" y="{y + 14}">{shown}</text></g>'


def _value(chart: Chart, value: float | None) -> str:
    return "not known" if value is None else value_text(ranked_kind(chart), value)


def _top(chart: Chart) -> float:
    """The end of the scale: 1 for what lies between 0 and 1."""
    ends = [end for row, (value,) in enumerate(chart.values) for end in (value, chart.ends(row)[1]) if end is not None]
    return 1.0 if ranked_kind(chart) == "share" else max([1.0, *ends])


def heat_map(chart: Chart, *, narrow: bool = False) -> Markup:
    """A cell a row and column with its count; the darker, the greater its share of the row's total.

    Args:
        chart: `trajectory-finding`, with its counts and totals.
        narrow: for a page as wide as a telephone.
    """
    width, label = (360, 112) if narrow else (960, 244)
    size = min((width - label - (8 if narrow else 150)) / max(len(chart.columns), 1), 60.0)
    head = 16 + (7.4 if narrow else 5.0) * max(map(len, chart.columns), default=0)
    row = 22 if narrow else 26
    title, words = "In how many trajectories of each model a kind of finding stands", _in_words(chart, chart.columns)
    parts = [*_opening(title, words, width, head + row * len(chart.rows) + 10)]
    for column, kind in enumerate(chart.columns):
        x, y = label + (column + 0.5) * size + 4, head - 6
        turn = -90 if narrow else -40
        parts.append(f'<text x="{x:.1f}" y="{y}" transform="rotate({turn} {x:.1f} {y})">{escape(kind)}</text>')
    for number, (name, counts, total) in enumerate(_counted(chart)):
        y = head + number * row
        shown = escape(one_line(name, 12 if narrow else _MAX_NAME))
        parts.append(f'<text x="{label - 8}" y="{y + row / 2 + 5}" text-anchor="end">{shown}</text>')
        for column, count in enumerate(counts):
            title = f"{one_line(name, _MAX_NAME)}, {chart.columns[column]}: {count} of {total} trajectories"
            parts += _cell(label + column * size, y, size, row, count, total, title)
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704 - every text in it is escaped


def _cell(x: float, y: float, size: float, row: float, count: int, total: int, title: str) -> Iterator[str]:
    share = count / total if total else 0.0
    box = f'x="{x:.1f}" y="{y:.1f}" width="{size - 2:.1f}" height="{row - 2}"'
    few = 0 < total < FEW  # a pale colour in a broken frame: it must not look like a share of many
    broken, strength = (' stroke-dasharray="3 2"', 0.2) if few else ("", 0.6)
    yield f'<g><title>{escape(title)}</title><rect {box} class="frame"{broken}/>'
    yield f'<rect {box} class="heat" fill-opacity="{strength * min(share, 1):.3f}"/>' if count else ""
    style = "" if count else ' class="mute"'
    words = count or "·"
    yield f'<text{style} x="{x + size / 2 - 1:.1f}" y="{y + row / 2 + 4}" text-anchor="middle">{words}</text></g>'


def _opening(title: str, words: str, width: float, height: float) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="replay-figure" viewBox="0 0 {width} {height:.0f}"'
    yield f' role="img" aria-label="{escape(title)}"><title>{escape(title)}</title><desc>{escape(words)}</desc>'


def _counted(chart: Chart) -> Iterator[tuple[str, list[int], int]]:
    """Each row: its name, its counts, and what they are shares of."""
    for name, counts, total in zip(chart.rows, chart.counts or (), chart.totals or (), strict=True):
        yield name, [count or 0 for count in counts], total


def _in_words(chart: Chart, columns: Sequence[str], limit: int = _MAX_NAME) -> str:
    """The counts of each row, for those who cannot see the drawing."""
    return "; ".join(
        f"{one_line(name, limit)}: "
        + ", ".join(f"{count} {column}" for column, count in zip(columns, counts, strict=True) if count)
        for name, counts, _ in _counted(chart)
    )


_DRAWINGS: Final[dict[str, Callable[..., Markup]]] = {
    "outcomes": stacked_bars,
    "leaderboard": ranked_bars,
    "supported": ranked_bars,
    "trajectory-finding": heat_map,
}
