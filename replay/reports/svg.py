"""The distribution of outcomes as a figure: a bar a model, told apart by pattern as well as by colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from markupsafe import Markup, escape

from replay.charts.palette import FRAME, INK, MUTE, OUTCOME_COLOURS
from replay.records import Outcome
from replay.reports import Selection
from replay.runfile import Run
from replay.safety.text import one_line


class CountedModel(Protocol):
    """A model with the outcomes of its calls."""

    @property
    def model(self) -> str:
        """Its name."""

    @property
    def calls(self) -> int:
        """How many it made."""

    @property
    def outcomes(self) -> Mapping[Outcome, int]:
        """How they came out."""


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


WIDE: Final = _Form("figure", width=960, label=230, bar=640, row=34, top=64, legend=24)
NARROW: Final = _Form("narrow", width=360, label=16, bar=318, row=58, top=88, legend=16, legend_columns=2, above=20)
_ORDER: Final = (
    Outcome.SUCCESS,
    Outcome.NOT_FOUND,
    Outcome.INVALID_ARGUMENTS,
    Outcome.UNKNOWN_TOOL,
    Outcome.ILLEGAL_FORMAT,
    Outcome.INCONCLUSIVE,
)
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
"""The page that holds the figure carries it."""


def render(run: Run, selection: Selection) -> str:
    """The figure alone, as a file."""
    from replay.reports.report_scope import scope_of  # brings the diagnosis, which a page of figures can spare

    scope = scope_of(run, selection)
    return str(figure(scope.models, alone=True)) + "\n"


def figure(models: Sequence[CountedModel], *, alone: bool = False, narrow: bool = False) -> Markup:
    """The figure.

    Args:
        models: a bar each.
        alone: it needs no style sheet, and looks the same in every program.
        narrow: for a page as wide as a telephone: names stand above the bars.
    """
    form = NARROW if narrow else WIDE
    height = form.top + form.row * len(models) + 34
    words = "; ".join(f"{one_line(model.model, 60)}: {_in_words(model)}" for model in models)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="replay-figure" viewBox="0 0 {form.width} {height}"',
        f' role="img" aria-labelledby="{form.name}-title {form.name}-words">',
        f'<title id="{form.name}-title">How the calls of each model came out</title>',
        f'<desc id="{form.name}-words">{escape(words)}</desc>',
        f'<rect class="paper" width="{form.width}" height="{height}"/>' if alone else "",
        *_patterns(form),
        *_legend(form),
        *(part for number, model in enumerate(models) for part in _bar(model, form.top + number * form.row, form)),
        *_axis(form.top + len(models) * form.row, form),
        "</svg>",
    ]
    text = "".join(parts)
    return Markup(_self_contained(text) if alone else text)  # noqa: S704 - every text in it is escaped


def _self_contained(svg: str) -> str:
    """The figure with attributes in the place of classes, and colours in the place of variables."""

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
    for number, outcome in enumerate(_ORDER):
        if form.legend_columns:
            left = form.legend + number % form.legend_columns * (form.width / form.legend_columns)
            top = 10 + number // form.legend_columns * 22
        yield f'<rect x="{left}" y="{top}" width="22" height="14" fill="url(#{form.name}-{outcome})"/>'
        yield f'<rect x="{left}" y="{top}" width="22" height="14" class="frame"/>'
        yield f'<text x="{left + 28}" y="{top + 12}">{outcome.letter} {outcome.label}</text>'
        left += 66 + 7.4 * len(outcome.label)


def _bar(model: CountedModel, top: float, form: _Form) -> Iterator[str]:
    name, calls = escape(one_line(model.model, 30)), f"{model.calls} {'call' if model.calls == 1 else 'calls'}"
    if form.above:
        yield f'<text x="{form.label}" y="{top + 14}">{name}</text>'
        yield f'<text class="mute" x="{form.label + form.bar}" y="{top + 14}" text-anchor="end">{calls}</text>'
    else:
        yield f'<text x="{form.label - 12}" y="{top + 18}" text-anchor="end">{name}</text>'
        yield f'<text class="mute" x="{form.label + form.bar + 10}" y="{top + 18}">{calls}</text>'
    top += form.above
    left = float(form.label)
    total = max(model.calls, 1)
    for outcome in _ORDER:
        count = model.outcomes[outcome]
        if not count:
            continue
        width = form.bar * count / total
        place = f'x="{left:.2f}" y="{top + 2}" width="{width:.2f}" height="24"'
        yield f"<g><title>{outcome.label}: {count} of {model.calls}</title>"
        yield f'<rect {place} fill="url(#{form.name}-{outcome})"/><rect {place} class="frame"/>'
        if width >= 9 * len(str(count)) + 8:
            middle = left + width / 2
            place = f'x="{middle:.2f}" y="{top + 19}" text-anchor="middle"'
            yield f'<text class="count halo" aria-hidden="true" {place}>{count}</text>'
            yield f'<text class="count" {place}>{count}</text>'
        yield "</g>"
        left += width


def _axis(top: float, form: _Form) -> Iterator[str]:
    for share in (0, 25, 50, 75, 100):
        left = form.label + form.bar * share / 100
        yield f'<path d="M{left} {top} v5" class="frame"/>'
        yield f'<text class="mute" x="{left}" y="{top + 20}" text-anchor="middle">{share} %</text>'


def _in_words(model: CountedModel) -> str:
    return ", ".join(f"{model.outcomes[outcome]} {outcome.label}" for outcome in _ORDER if model.outcomes[outcome])
