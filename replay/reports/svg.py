"""The distribution of outcomes as a figure: a bar a model, told apart by pattern as well as by colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup, escape

from replay.diagnosis.phrasing import counted
from replay.figures.palette import FRAME, INK, MUTE, OUTCOME_COLOURS
from replay.records import Outcome
from replay.records.summary import ModelSummary
from replay.reports import Selection
from replay.reports.report_scope import scope_of
from replay.runfile import Run
from replay.text import one_line

WIDTH: Final = 960
_LABEL: Final = 230
_LEGEND: Final = 60
_BAR: Final = 640
_ROW: Final = 34
_TOP: Final = 64
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
    "ink": INK, "paper": "#ffffff", "mute": MUTE, "frame": FRAME,
    **{f"o-{outcome}": colour for outcome, colour in OUTCOME_COLOURS.items()},
}  # fmt: skip
_DARK: Final = {
    "ink": "#f0f3f6", "paper": "#11161d", "mute": "#a6b0bb", "frame": "#6e7a87", "o-success": "#235c38",
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
    "halo": {"stroke": "var(--paper)", "stroke-width": "3.5"},
}
"""How each class is drawn: rules of a style sheet in a page, attributes in a file, which not only browsers read."""
_ROOT: Final = {"font-family": "system-ui, sans-serif", "font-size": "13px", "fill": "var(--ink)"}
_CLASSES: Final[Mapping[str, Mapping[str, str]]] = {"replay-figure": _ROOT, **_ATTRIBUTES}


def _rules(attributes: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in attributes.items())


def _colours(palette: Mapping[str, str]) -> str:
    return ".replay-figure {" + _rules({f"--{name}": colour for name, colour in palette.items()}) + "}"


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
    scope = scope_of(run, selection)
    return str(figure(scope.models(), alone=True)) + "\n"


def figure(models: Sequence[ModelSummary], *, alone: bool = False) -> Markup:
    """The figure; alone it needs no style sheet, and looks the same in every program."""
    height = _TOP + _ROW * len(models) + 34
    words = "; ".join(f"{one_line(model.model, 60)}: {_in_words(model)}" for model in models)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="replay-figure" viewBox="0 0 {WIDTH} {height}"',
        ' role="img" aria-labelledby="figure-title figure-words">',
        '<title id="figure-title">How the calls of each model came out</title>',
        f'<desc id="figure-words">{escape(words)}</desc>',
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>' if alone else "",
        *_patterns(),
        *_legend(),
        *(part for number, model in enumerate(models) for part in _bar(model, _TOP + number * _ROW)),
        *_axis(_TOP + len(models) * _ROW),
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


def _patterns() -> Iterator[str]:
    for outcome, marks in _MARKS.items():
        yield (
            f'<pattern id="p-{outcome}" width="10" height="10" patternUnits="userSpaceOnUse">'
            f'<rect width="10" height="10" fill="var(--o-{outcome})"/>{marks}</pattern>'
        )


def _legend() -> Iterator[str]:
    left = float(_LEGEND)
    for outcome in _ORDER:
        yield f'<rect x="{left}" y="16" width="22" height="14" fill="url(#p-{outcome})"/>'
        yield f'<rect x="{left}" y="16" width="22" height="14" class="frame"/>'
        yield f'<text x="{left + 28}" y="28">{outcome.label}</text>'
        left += 52 + 7.4 * len(outcome.label)


def _bar(model: ModelSummary, top: float) -> Iterator[str]:
    yield f'<text x="{_LABEL - 12}" y="{top + 18}" text-anchor="end">{escape(one_line(model.model, 30))}</text>'
    left = float(_LABEL)
    total = max(model.calls, 1)
    for outcome in _ORDER:
        count = model.outcomes[outcome]
        if not count:
            continue
        width = _BAR * count / total
        place = f'x="{left:.2f}" y="{top + 2}" width="{width:.2f}" height="24"'
        yield f'<g><title>{outcome.label}: {count} of {model.calls}</title><rect {place} fill="url(#p-{outcome})"/>'
        yield f'<rect {place} class="frame"/>'
        if width >= 9 * len(str(count)) + 8:
            middle = left + width / 2
            place = f'x="{middle:.2f}" y="{top + 19}" text-anchor="middle"'
            yield f'<text class="count halo" aria-hidden="true" {place}>{count}</text>'
            yield f'<text class="count" {place}>{count}</text>'
        yield "</g>"
        left += width
    calls = counted(model.calls, "call")
    yield f'<text class="mute" x="{_LABEL + _BAR + 10}" y="{top + 18}">{calls}</text>'


def _axis(top: float) -> Iterator[str]:
    for share in (0, 25, 50, 75, 100):
        left = _LABEL + _BAR * share / 100
        yield f'<path d="M{left} {top} v5" class="frame"/>'
        yield f'<text class="mute" x="{left}" y="{top + 20}" text-anchor="middle">{share} %</text>'


def _in_words(model: ModelSummary) -> str:
    return ", ".join(f"{model.outcomes[outcome]} {outcome.label}" for outcome in _ORDER if model.outcomes[outcome])
