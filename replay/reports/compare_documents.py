"""Many models side by side as JSON, CSV, Markdown, and a page of HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.records.comparison import Figure, ModelComparison
from replay.records.files import dump
from replay.reports import markdown_syntax, svg
from replay.reports.compare_text import association_text, difference_text, interval_text, shown
from replay.reports.csv_cell import safe_cell
from replay.reports.model_figures import finding_cells, heat_map, leaderboard, ranked
from replay.safety.redaction import Redactor
from replay.safety.text import printable

CSV_COLUMNS: Final = ("model", "by", "stratum", "tasks", "measure", "value", "n", "low", "high", "runs", "deviation")
"""In this order; new ones are only ever added at the end."""
_MAX_KINDS: Final = 25


def render(found: ModelComparison, form: str) -> str:
    """A comparison in one of the formats `json`, `csv`, `markdown` and `html`, without secrets."""
    if form == "json":
        return json.dumps(Redactor().json(dump(found)), ensure_ascii=True, indent=1) + "\n"
    return Redactor().text({"csv": _csv, "markdown": _markdown, "html": _html}[form](found))


def finding_table(found: ModelComparison) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """Kinds of finding by model: in how many of its trajectories each stands; the most frequent kinds first."""
    models = [one.model for one in found.models]
    counts = {(row.kind, row.model): row.trajectories for row in found.findings}
    totals: dict[str, int] = {}
    for row in found.findings:
        totals[row.kind] = totals.get(row.kind, 0) + row.trajectories
    kinds = sorted(totals, key=lambda kind: (-totals[kind], kind))
    return models, [(kind, [counts.get((kind, model), 0) for model in models]) for kind in kinds]


def _csv(found: ModelComparison) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for one in found.models:
        for name, figure in one.figures.items():
            spread = (one.spread or {}).get(name)
            deviation = "" if spread is None else spread.deviation
            cells = [one.model, "", "", one.tasks, name, *_numbers(figure), one.runs, deviation]
            writer.writerow(map(safe_cell, cells))
    for row in found.strata.rows if found.strata else ():
        for name, figure in row.figures.items():
            by = found.strata.by if found.strata else ""
            cells = [row.model, by, row.stratum, row.tasks, name, *_numbers(figure), "", ""]
            writer.writerow(map(safe_cell, cells))
    return out.getvalue()


def _numbers(figure: Figure) -> list[object]:
    return [figure.value, figure.n, figure.low, figure.high]


def _tables(found: ModelComparison) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Every table: its title, its head and its rows, as plain text."""
    measures = {one.id: one for one in found.measures}
    head = ["model", "tasks", "runs", "calls", *(one.label for one in found.measures)]
    rows = [
        [one.model, str(one.tasks), str(one.runs), f"{one.calls:,}"]
        + [shown(measure, one.figures.get(measure.id)) for measure in found.measures]
        for one in found.models
    ]
    yield "Models", head, rows
    metric = measures.get(found.metric)
    if metric is not None:
        rows = [[one.model, interval_text(metric, one.figures.get(metric.id))] for one in found.models]
        yield f"{metric.label}, with 95 % intervals", ["model", metric.label], rows
    if found.strata is not None and metric is not None:
        figures: Mapping[tuple[str, str], Figure | None] = {
            (row.model, row.stratum): row.figures.get(metric.id) for row in found.strata.rows
        }
        rows = [
            [stratum, *(interval_text(metric, figures.get((one.model, stratum))) for one in found.models)]
            for stratum in found.strata.names
        ]
        head = [found.strata.by, *(one.model for one in found.models)]
        yield f"{metric.label} by {found.strata.by}, with 95 % intervals", head, rows
    if metric is not None and found.differences:
        sure = [[difference_text(pair, metric)] for pair in found.differences if pair.beyond_chance]
        title = f"Differences in {metric.label} beyond chance: {len(sure)} of {len(found.differences)} pairs"
        yield title, ["paired over common tasks, Holm's correction"], sure
    yield from _what_happened(found)


def _what_happened(found: ModelComparison) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    if found.failed_in_tasks:
        rows = [
            [
                row.model,
                str(row.passed_tasks),
                f"{row.failed_calls_in_passed} of {row.calls_in_passed}",
                str(row.lost_tasks),
                f"{row.failed_calls_in_lost} of {row.calls_in_lost}",
            ]
            for row in found.failed_in_tasks
        ]
        head = ["model", "tasks passed", "failed calls in them", "tasks lost", "failed calls in them"]
        yield "Failed calls in tasks that passed and that were lost", head, rows
    sure = [[association_text(one)] for one in found.associations if one.beyond_chance]
    if sure:
        yield "What goes with lost tasks beyond chance", ["odds ratios with 95 % intervals, Holm's correction"], sure
    if found.recoveries:
        rows = [
            [row.subject, row.name or "(no name)", str(row.failed), str(row.recovered), str(row.open)]
            for row in found.recoveries
        ]
        yield "Failed calls recovered or open", ["by", "name", "failed", "recovered", "open"], rows
    models, kinds = finding_table(found)
    if kinds:
        rows = [[kind, *map(str, counts)] for kind, counts in kinds[:_MAX_KINDS]]
        yield "Trajectories that show each kind of finding", ["finding", *models], rows


def _markdown(found: ModelComparison) -> str:
    parts = ["# Models compared"]
    for title, head, rows in _tables(found):
        right = frozenset(range(1, len(head)))
        cells = [[markdown_syntax.prose(cell) for cell in row] for row in rows]
        names = [markdown_syntax.prose(name) for name in head]
        parts.append(f"## {markdown_syntax.prose(title)}")
        parts.append(markdown_syntax.table(names, cells, right) if rows else "None.")
    parts += [markdown_syntax.prose(f"Note: {note}") for note in found.notes]
    return "\n\n".join(parts) + "\n"


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Models compared</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem; max-width: 90rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8885; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { font-weight: 600; vertical-align: bottom; }
footer { color: #777; margin-top: 2rem; }
figure { margin: 0 0 1rem; max-width: 60rem; }
figure svg { display: block; width: 100%; height: auto; }
figure.narrow { display: none; }
@media (max-width: 640px) { figure.large { display: none; } figure.narrow { display: block; } }
{{ style }}
</style>
</head>
<body>
<h1>Models compared</h1>
{% for title, large, narrow in figures %}
<section>
<h2>{{ title }}</h2>
<figure class="large">{{ large }}</figure>
<figure class="narrow">{{ narrow }}</figure>
</section>
{% endfor %}
{% for title, head, rows in tables %}
<section>
<h2>{{ title }}</h2>
{% if rows %}
<div class="wide" tabindex="0" role="region" aria-label="{{ title }}"><table>
<thead><tr>{% for cell in head %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}
<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}
</tbody>
</table></div>
{% else %}
<p>None.</p>
{% endif %}
</section>
{% endfor %}
{% for note in notes %}
<p>Note: {{ note }}</p>
{% endfor %}
<footer>mcp-replay {{ version }}</footer>
</body>
</html>
"""


def _figures(found: ModelComparison) -> Iterator[tuple[str, Markup, Markup]]:
    """Each figure with its title: wide, and narrow for a telephone."""
    measure, models = ranked(found)
    if measure is not None:
        yield f"Leaderboard: {measure.label}, with 95 % intervals", *_two(partial(leaderboard, measure, models))
    yield "How the calls came out", *_two(partial(svg.figure, found.models))
    cells = finding_cells([(one.model, one.trajectories) for one in found.models], found.findings)
    if cells.columns:
        yield "Trajectories with each kind of finding", *_two(partial(heat_map, cells))


def _two(draw: Callable[..., Markup]) -> tuple[Markup, Markup]:
    return draw(), draw(narrow=True)


def _html(found: ModelComparison) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    tables = [
        (printable(title), [printable(cell) for cell in head], [[printable(cell) for cell in row] for row in rows])
        for title, head, rows in _tables(found)
    ]
    page = environment.from_string(_PAGE)
    style = Markup(svg.STYLE)  # noqa: S704 - ours
    return page.render(
        figures=list(_figures(found)),
        style=style,
        tables=tables,
        notes=[printable(note) for note in found.notes],
        version=__version__,
    )
