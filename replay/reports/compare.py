"""Many models side by side, as `replay compare` writes them: text, JSON, CSV, Markdown, and a page of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from textwrap import wrap
from typing import Final

from replay.analysis.measures import FAULT_MEASURES, UNFOUNDED_MEASURE
from replay.charts.counts import outcomes_of, trajectory_finding_of
from replay.charts.metrics import leaderboard_of
from replay.charts.style import value_text
from replay.records import UNFOUNDED
from replay.records.chart import Chart
from replay.records.comparison import Association, Figure, Measure, ModelComparison, ModelDifference
from replay.records.rating import RECORDED_SCORES, SUMMED_UP
from replay.reports import render_document
from replay.reports.basis import certainty_line, fault_line, spending_line, unread_calls, unread_label, unread_lines
from replay.reports.markdown_syntax import prose
from replay.reports.tables import Table
from replay.safety.text import csv_line, one_line

CSV_COLUMNS: Final = ("model", "by", "stratum", "tasks", "measure", "value", "n", "low", "high", "runs", "deviation")
"""In this order; new ones are only ever added at the end."""
MODELS: Final = "Models"
"""The title of the first table."""
_RECORDED: Final = "Scores that the files record, mean and deviation over tasks"
_SUCCESS: Final = "Failed calls in tasks that passed and that were lost"
_JUDGED: Final = RECORDED_SCORES.keys() - set(SUMMED_UP)
"""The scores that stand in the table of these alone."""
_MAX_NAME: Final = 40
_MAX_LISTED: Final = 12
_MAX_KINDS: Final = 25
_MAX_DRAWN_KINDS: Final = 12


def render(comparison: ModelComparison, form: str, width: int = 160) -> str:
    """A comparison in one of the formats `text`, `json`, `csv`, `markdown` and `html`, without secrets.

    Args:
        comparison: what was compared.
        form: the format.
        width: of the text: columns of the terminal.
    """
    return render_document(
        comparison,
        form,
        {"text": partial(comparison_text, width=width), "csv": _csv, "markdown": _markdown, "html": _html},
    )


def comparison_text(comparison: ModelComparison, width: int) -> str:
    """All of a comparison, as wide as the terminal lets the tables be."""
    metric, recorded = _metric(comparison), _recorded_table(comparison)
    parts = [
        _models_text(comparison, width),
        [] if recorded is None else [_RECORDED, *recorded.text(width, _MAX_NAME)],
        _spread_text(comparison, metric),
        _strata_text(comparison, metric, width),
        _taxonomy_text(comparison, width),
        _differences_text(comparison, metric),
        _success_text(comparison),
        _recovery_text(comparison),
        [f"note: {note}" for note in comparison.notes],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def shown(measure: Measure, figure: Figure | None) -> str:
    """A value in a table."""
    return "-" if figure is None else value_text(measure.kind, figure.value)


def interval_text(measure: Measure, figure: Figure | None) -> str:
    """A value with its interval and what it rests on: `0.412 [0.380, 0.441] n=203`."""
    if figure is None:
        return "-"
    ends = [value_text(measure.kind, end) for end in (figure.low, figure.high) if end is not None]
    between = f" [{', '.join(ends)}]" if len(ends) > 1 else ""
    return f"{shown(measure, figure)}{between} n={figure.n}"


def difference_text(pair: ModelDifference, measure: Measure) -> str:
    """`a 0.412 above b [0.380, 0.441] over 203 tasks, p < 0.001`; the greater value first."""
    names = (pair.first, pair.second) if pair.difference >= 0 else (pair.second, pair.first)
    ends = [end for end in (pair.low, pair.high) if end is not None]
    ends = ends if pair.difference >= 0 else [-end for end in reversed(ends)]
    between = f" [{', '.join(_points(measure, end) for end in ends)}]" if ends else ""
    first, second = (one_line(name, _MAX_NAME) for name in names)
    size = _points(measure, abs(pair.difference))
    return f"{first} {size} above {second}{between} over {pair.tasks} tasks, {_p_text(pair.corrected_p_value)}"


def association_text(association: Association) -> str:
    """`finding invented-value goes with lost tasks: odds ratio 4.2 [1.3, 13], p = 0.02`."""
    way = "lost" if association.odds_ratio > 1 else "passed"
    name = association.name.replace("_", " ") if association.subject == "outcome" else association.name
    ends = f"[{association.low:.2g}, {association.high:.2g}]"
    return (
        f"{association.subject} {one_line(name, _MAX_NAME)} goes with {way} tasks: odds ratio of losing "
        f"{association.odds_ratio:.2g} {ends}, {_p_text(association.corrected_p_value)}"
    )


def _points(measure: Measure, value: float) -> str:
    return f"{100 * value:.1f} points" if measure.kind == "share" else value_text(measure.kind, value)


def _p_text(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _metric(comparison: ModelComparison) -> Measure | None:
    return next((measure for measure in comparison.measures if measure.id == comparison.metric), None)


def _model_table(comparison: ModelComparison, *, with_runs: bool = True) -> Table:
    measures = [measure for measure in comparison.measures if measure.id not in _JUDGED]
    head = ["tasks", *(["runs"] if with_runs else []), "calls", *(measure.label for measure in measures)]
    rows = [
        [model.model, model.tasks, *([model.runs] if with_runs else []), f"{model.calls:,}"]
        + [shown(measure, model.figures.get(measure.id)) for measure in measures]
        for model in comparison.models
    ]
    if comparison.unread is not None:
        calls = unread_calls(comparison.unread.files)
        cells = [*(["-"] if with_runs else []), calls, *["-"] * len(measures)]
        rows.append([unread_label(comparison.unread.files), "?", *cells])
    return Table.of(["model", *head], rows)


def _recorded_table(comparison: ModelComparison) -> Table | None:
    """What the files' own judges gave, a row a score; None where the files hold none."""
    rows = [
        [measure.label, *(_with_deviation(model.figures.get(measure.id)) for model in comparison.models)]
        for measure in comparison.measures
        if measure.id in RECORDED_SCORES
    ]
    if any(model.correlation is not None for model in comparison.models):
        known = (model.correlation for model in comparison.models)
        rows.append(["MCPEval correlation of the two", *("-" if value is None else f"{value:.3f}" for value in known)])
    return Table.of(["score", *(model.model for model in comparison.models)], rows) if rows else None


def _with_deviation(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    return f"{figure.value:.3f}" + ("" if figure.deviation is None else f" ± {figure.deviation:.3f}")


def _strata_table(comparison: ModelComparison, metric: Measure) -> Table | None:
    if comparison.strata is None:
        return None
    names = [model.model for model in comparison.models]
    figures = {(row.model, row.stratum): row.figures.get(metric.id) for row in comparison.strata.rows}
    rows = [
        [stratum, *(interval_text(metric, figures.get((name, stratum))) for name in names)]
        for stratum in comparison.strata.names
    ]
    return Table.of([comparison.strata.by, *names], rows)


def _models_text(comparison: ModelComparison, width: int) -> list[str]:
    table = _model_table(comparison, with_runs=any(model.runs > 1 for model in comparison.models))
    labels = {measure.id: measure.label for measure in comparison.measures}
    label = labels.get(comparison.sorted_by, comparison.sorted_by)
    says = f"sorted by {label}; outcomes are shares of judged calls; --json has every figure with its 95 % interval"
    basis = (part for line in foundation_lines(comparison) for part in wrap(line, width, subsequent_indent="      "))
    return [*table.text(width, _MAX_NAME), says, *basis]


def foundation_lines(comparison: ModelComparison) -> Iterator[str]:
    """What was not read and could change, what verdicts rest on, whose fault failures are, and what they cost."""
    yield from unread_lines(comparison.unread)
    nothing = _calls_of(comparison, UNFOUNDED_MEASURE)
    if line := certainty_line(
        {UNFOUNDED: nothing, "certain": sum(model.calls for model in comparison.models) - nothing}
    ):
        yield line
    if line := fault_line({fault: _calls_of(comparison, measure) for fault, measure in FAULT_MEASURES.items()}):
        yield line
    if line := spending_line(comparison.spending):
        yield f"{line}."


def _calls_of(comparison: ModelComparison, measure: str) -> int:
    """How many calls of all models a share of calls counts."""
    figures = (model.figures.get(measure) for model in comparison.models)
    return sum(round(figure.value * figure.n) for figure in figures if figure is not None)


def _spread_text(comparison: ModelComparison, metric: Measure | None) -> list[str]:
    if metric is None:
        return []
    rows = [
        [
            model.model,
            value_text(metric.kind, spread.mean),
            value_text(metric.kind, spread.deviation),
            ", ".join(value_text(metric.kind, value) for value in spread.values[:8]),
        ]
        if (spread := (model.spread or {}).get(metric.id)) is not None
        else [model.model, "-", "-", "-"]
        for model in comparison.models
        if model.runs > 1 and metric.id in model.figures
    ]
    table = Table.of(["model", "mean", "deviation", "runs"], rows)
    return [f"{metric.label} from run to run", *table.text(longest_name=_MAX_NAME)] if rows else []


def _strata_text(comparison: ModelComparison, metric: Measure | None, width: int) -> list[str]:
    table = _strata_table(comparison, metric) if metric is not None else None
    if table is None or metric is None:
        return []
    of = "calls" if metric.kind == "share" else "tasks"
    title = f"{metric.label} by {table.columns[0].head}, with 95 % intervals; n: {of}"
    return [title, *table.text(width, _MAX_NAME)]


def _taxonomy_table(comparison: ModelComparison) -> Table | None:
    if comparison.taxonomy is None:
        return None
    names = [model.model for model in comparison.models]
    rows = [
        [f"{error.category}: {error.name}", *(error.task_runs.get(name, "-") for name in names)]
        for error in comparison.taxonomy.classes
    ]
    return Table.of([comparison.taxonomy.name, *names], rows)


def _taxonomy_title(comparison: ModelComparison) -> str:
    name = comparison.taxonomy.name if comparison.taxonomy else ""
    return f"Task runs that show each class of {name}; -: nothing here shows it"


def _left_to_judges(comparison: ModelComparison) -> Iterator[str]:
    """What the classes leave open; those of which all is open share a line."""
    classes = comparison.taxonomy.classes if comparison.taxonomy else ()
    open_: dict[str, list[str]] = {}
    for error in classes:
        if error.left_to_judges:
            open_.setdefault(error.left_to_judges, []).append(error.name)
    for what, names in open_.items():
        yield f"not told without a judge, of {', '.join(names)}: {what}"


def _taxonomy_text(comparison: ModelComparison, width: int) -> list[str]:
    table = _taxonomy_table(comparison)
    if table is None:
        return []
    told = (part for line in _left_to_judges(comparison) for part in wrap(line, width, subsequent_indent="  "))
    return [_taxonomy_title(comparison), *table.text(width, 2 * _MAX_NAME), *told]


def _differences_text(comparison: ModelComparison, metric: Measure | None) -> list[str]:
    if metric is None or not comparison.differences:
        return []
    sure = [pair for pair in comparison.differences if pair.beyond_chance]
    title = (
        f"Differences in {metric.label} beyond chance: {len(sure)} of {len(comparison.differences)} pairs "
        "(paired over common tasks, Holm's correction)"
    )
    more = [f"  and {len(sure) - _MAX_LISTED} more; --json has them"] if len(sure) > _MAX_LISTED else []
    return [title, *(f"  {difference_text(pair, metric)}" for pair in sure[:_MAX_LISTED]), *more]


def _success_text(comparison: ModelComparison) -> list[str]:
    if not comparison.failed_in_tasks:
        return []
    table = Table.of(["model", "passed", "failed calls", "lost", "failed calls"], _success_rows(comparison, _share_of))
    lines = [_SUCCESS, *table.text(longest_name=_MAX_NAME)]
    sure = [association for association in comparison.associations if association.beyond_chance]
    lines += [f"  {association_text(association)}" for association in sure[:_MAX_LISTED]]
    if comparison.associations and not sure:
        tried = len(comparison.associations)
        lines.append(f"  no outcome, tool or finding goes with lost tasks beyond chance ({tried} tried)")
    return lines


def _success_rows(comparison: ModelComparison, of: Callable[[int, int], str]) -> list[list[object]]:
    return [
        [
            row.model,
            row.passed_tasks,
            of(row.failed_calls_in_passed, row.calls_in_passed),
            row.lost_tasks,
            of(row.failed_calls_in_lost, row.calls_in_lost),
        ]
        for row in comparison.failed_in_tasks
    ]


def _share_of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else "-"


def _recovery_text(comparison: ModelComparison) -> list[str]:
    rows = [
        [row.name or "(no name)", row.failed, row.recovered, row.open]
        for row in comparison.recoveries
        if row.subject == "tool"
    ]
    table = Table.of(["tool", "failed", "recovered", "open"], rows[:_MAX_LISTED])
    return ["Failed calls recovered or open, by tool", *table.text(longest_name=_MAX_NAME)] if rows else []


def _cells(figure: Figure) -> list[float | None]:
    return [figure.value, figure.n, figure.low, figure.high]


def _csv(comparison: ModelComparison) -> str:
    return "".join(map(csv_line, [CSV_COLUMNS, *_csv_rows(comparison)]))


def _csv_rows(comparison: ModelComparison) -> Iterator[list[object]]:
    for model in comparison.models:
        deviations = {name: spread.deviation for name, spread in (model.spread or {}).items()}
        for name, figure in model.figures.items():
            yield [model.model, "", "", model.tasks, name, *_cells(figure), model.runs, deviations.get(name, "")]
    if strata := comparison.strata:
        for row in strata.rows:
            for name, figure in row.figures.items():
                yield [row.model, strata.by, row.stratum, row.tasks, name, *_cells(figure), "", ""]
    if taxonomy := comparison.taxonomy:
        for error, model in product(taxonomy.classes, comparison.models):
            if (count := error.task_runs.get(model.model)) is not None:
                runs = [count, model.trajectories, *[""] * 4]
                yield [model.model, taxonomy.name, error.name, model.tasks, "task_runs_showing_it", *runs]
    unread = Counter(file.model or "" for file in comparison.unread.files) if comparison.unread else {}
    yield from ([model, "", "", "", "unread_files", count, *[""] * 5] for model, count in unread.items())


def _tables(comparison: ModelComparison) -> Iterator[tuple[str, Table]]:
    """Every table of the documents, with its title."""
    yield MODELS, _model_table(comparison)
    recorded = _recorded_table(comparison)
    if recorded is not None:
        yield _RECORDED, recorded
    metric = _metric(comparison)
    if metric is not None:
        rows = [[model.model, interval_text(metric, model.figures.get(metric.id))] for model in comparison.models]
        yield f"{metric.label}, with 95 % intervals", Table.of(["model", metric.label], rows)
        strata = _strata_table(comparison, metric)
        if strata is not None:
            yield f"{metric.label} by {strata.columns[0].head}, with 95 % intervals", strata
        if comparison.differences:
            sure = [[difference_text(pair, metric)] for pair in comparison.differences if pair.beyond_chance]
            title = f"Differences in {metric.label} beyond chance: {len(sure)} of {len(comparison.differences)} pairs"
            yield title, Table.of(["paired over common tasks, Holm's correction"], sure)
    if comparison.failed_in_tasks:
        head = ["model", "tasks passed", "failed calls in them", "tasks lost", "failed calls in them"]
        yield _SUCCESS, Table.of(head, _success_rows(comparison, "{} of {}".format))
    odds = [[association_text(association)] for association in comparison.associations if association.beyond_chance]
    if odds:
        head = ["odds ratios with 95 % intervals, Holm's correction"]
        yield "What goes with lost tasks beyond chance", Table.of(head, odds)
    if comparison.recoveries:
        fates = [
            [row.subject, row.name or "(no name)", row.failed, row.recovered, row.open] for row in comparison.recoveries
        ]
        yield "Failed calls recovered or open", Table.of(["by", "name", "failed", "recovered", "open"], fates)
    if (taxonomy := _taxonomy_table(comparison)) is not None:
        yield _taxonomy_title(comparison), taxonomy
        yield "What is not told without a judge", Table.of(["class"], [[line] for line in _left_to_judges(comparison)])
    findings = _finding_chart(comparison, _MAX_KINDS)
    if findings.columns:
        counts = zip(*(findings.counts or ()), strict=True)
        kinds = [[kind, *cells] for kind, cells in zip(findings.columns, counts, strict=True)]
        yield "Trajectories that show each kind of finding", Table.of(["finding", *findings.rows], kinds)


def _finding_chart(comparison: ModelComparison, most: int) -> Chart:
    counts = {(row.model, row.kind): row.trajectories for row in comparison.findings}
    return trajectory_finding_of(counts, {model.model: model.trajectories for model in comparison.models}, most)


def _markdown(comparison: ModelComparison) -> str:
    parts = ["# Models compared"]
    for title, table in _tables(comparison):
        parts += [f"## {prose(title)}", table.markdown() if table.rows else "None."]
        parts += map(prose, foundation_lines(comparison)) if title == MODELS else ()
    parts += [prose(f"Note: {note}") for note in comparison.notes]
    return "\n\n".join(parts) + "\n"


def _html(comparison: ModelComparison) -> str:
    from replay.reports.page import tables_page

    findings = _finding_chart(comparison, _MAX_DRAWN_KINDS)
    charts = [
        ("", leaderboard_of(comparison)),
        ("How the calls were judged", outcomes_of(comparison.models)),
        ("", findings if findings.columns else None),
    ]
    return tables_page(
        "Models compared",
        [(heading, chart) for heading, chart in charts if chart is not None],
        _tables(comparison),
        lead=(),
        basis=(MODELS, list(foundation_lines(comparison))),
        notes=comparison.notes,
    )
