"""Many models side by side as text: as wide as the terminal lets the table be, in several parts where it must."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len

from replay.records.comparison import Association, Figure, Measure, ModelComparison, ModelDifference
from replay.safety.text import one_line

_GAP: Final = "  "
_MAX_NAME: Final = 40
_MAX_LISTED: Final = 12


def comparison_text(found: ModelComparison, width: int) -> str:
    """All of a comparison.

    Args:
        found: the comparison.
        width: columns of the terminal.
    """
    parts = ["\n".join(_models(found, width))]
    parts += ["\n".join(lines) for lines in (_spread(found), _strata(found, width)) if lines]
    parts += ["\n".join(lines) for lines in (_differences(found), _success(found), _recovery(found)) if lines]
    parts += ["\n".join(f"note: {note}" for note in found.notes)] if found.notes else []
    return "\n\n".join(parts)


def shown(measure: Measure, figure: Figure | None) -> str:
    """A figure in a table."""
    if figure is None:
        return "-"
    return value_text(measure, figure.value)


def value_text(measure: Measure, value: float) -> str:
    """A value of a measure: a share in per cent, a small mean with three decimals."""
    if measure.kind == "share":
        return f"{100 * value:.1f}%"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def interval_text(measure: Measure, figure: Figure | None) -> str:
    """A figure with its interval and what it rests on: `0.412 [0.380, 0.441] n=203`."""
    if figure is None:
        return "-"
    between = ""
    if figure.low is not None and figure.high is not None:
        between = f" [{value_text(measure, figure.low)}, {value_text(measure, figure.high)}]"
    return f"{value_text(measure, figure.value)}{between} n={figure.n}"


def p_text(p_value: float) -> str:
    """A p-value in words: `p < 0.001`, `p = 0.04`."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _models(found: ModelComparison, width: int) -> Iterator[str]:
    head = ["model", "tasks", *(["runs"] if any(one.runs > 1 for one in found.models) else []), "calls"]
    rows = [
        [one_line(one.model, _MAX_NAME), str(one.tasks), *([str(one.runs)] if "runs" in head else []), f"{one.calls:,}"]
        for one in found.models
    ]
    head += [measure.label for measure in found.measures]
    for row, one in zip(rows, found.models, strict=True):
        row += [shown(measure, one.figures.get(measure.id)) for measure in found.measures]
    yield from fitted(head, rows, width)
    label = next((one.label for one in found.measures if one.id == found.sorted_by), found.sorted_by)
    yield f"sorted by {label}; outcomes are shares of judged calls; --json has every figure with its 95 % interval"


def _spread(found: ModelComparison) -> list[str]:
    measure = _metric(found)
    spread = [
        (one.model, one.spread[found.metric]) for one in found.models if one.spread and found.metric in one.spread
    ]
    if not spread or measure is None:
        return []
    rows = [
        [
            one_line(model, _MAX_NAME),
            value_text(measure, one.mean),
            value_text(measure, one.deviation),
            ", ".join(value_text(measure, value) for value in one.values[:8]),
        ]
        for model, one in spread
    ]
    return [f"{measure.label} from run to run", *_laid(["model", "mean", "deviation", "runs"], rows)]


def _strata(found: ModelComparison, width: int) -> list[str]:
    strata, measure = found.strata, _metric(found)
    if strata is None or measure is None:
        return []
    figures = {(row.model, row.stratum): row.figures.get(found.metric) for row in strata.rows}
    head = [strata.by, *(one_line(one.model, _MAX_NAME) for one in found.models)]
    rows = [
        [one_line(name, _MAX_NAME), *(interval_text(measure, figures.get((one.model, name))) for one in found.models)]
        for name in strata.names
    ]
    title = f"{measure.label} by {strata.by}, with 95 % intervals; n: {'calls' if measure.kind == 'share' else 'tasks'}"
    return [title, *fitted(head, rows, width)]


def _differences(found: ModelComparison) -> list[str]:
    measure = _metric(found)
    if measure is None or not found.differences:
        return []
    sure = [pair for pair in found.differences if pair.beyond_chance]
    title = (
        f"Differences in {measure.label} beyond chance: {len(sure)} of {len(found.differences)} pairs "
        "(paired over common tasks, Holm's correction)"
    )
    lines = [title, *(f"  {difference_text(pair, measure)}" for pair in sure[:_MAX_LISTED])]
    return [*lines, f"  and {len(sure) - _MAX_LISTED} more; --json has them"] if len(sure) > _MAX_LISTED else lines


def difference_text(pair: ModelDifference, measure: Measure) -> str:
    """`a 0.412 above b [0.380, 0.441] over 203 tasks, p < 0.001`; the greater value first."""
    names = (pair.first, pair.second) if pair.difference >= 0 else (pair.second, pair.first)
    ends = [end for end in (pair.low, pair.high) if end is not None]
    ends = ends if pair.difference >= 0 else [-end for end in reversed(ends)]
    between = f" [{', '.join(_points(measure, end) for end in ends)}]" if ends else ""
    first, second = (one_line(name, _MAX_NAME) for name in names)
    size = _points(measure, abs(pair.difference))
    return f"{first} {size} above {second}{between} over {pair.tasks} tasks, {p_text(pair.corrected_p_value)}"


def _points(measure: Measure, value: float) -> str:
    return f"{100 * value:.1f} points" if measure.kind == "share" else value_text(measure, value)


def _success(found: ModelComparison) -> list[str]:
    if not found.failed_in_tasks:
        return []
    rows = [
        [
            one_line(row.model, _MAX_NAME),
            str(row.passed_tasks),
            _of(row.failed_calls_in_passed, row.calls_in_passed),
            str(row.lost_tasks),
            _of(row.failed_calls_in_lost, row.calls_in_lost),
        ]
        for row in found.failed_in_tasks
    ]
    lines = ["Failed calls in tasks that passed and that were lost"]
    lines += _laid(["model", "passed", "failed calls", "lost", "failed calls"], rows)
    sure = [one for one in found.associations if one.beyond_chance]
    lines += [f"  {association_text(one)}" for one in sure[:_MAX_LISTED]]
    if found.associations and not sure:
        lines.append(
            f"  no outcome, tool or finding goes with lost tasks beyond chance ({len(found.associations)} tried)"
        )
    return lines


def association_text(one: Association) -> str:
    """`finding invented-value goes with lost tasks: odds ratio 4.2 [1.3, 13], p = 0.02`."""
    way = "lost" if one.odds_ratio > 1 else "passed"
    ends = f"[{one.low:.2g}, {one.high:.2g}]"
    name = one_line(one.name.replace("_", " ") if one.subject == "outcome" else one.name, _MAX_NAME)
    p_value = p_text(one.corrected_p_value)
    return f"{one.subject} {name} goes with {way} tasks: odds ratio of losing {one.odds_ratio:.2g} {ends}, {p_value}"


def _recovery(found: ModelComparison) -> list[str]:
    rows = [row for row in found.recoveries if row.subject == "tool"][:_MAX_LISTED]
    if not rows:
        return []
    laid = [
        [one_line(row.name or "(no name)", _MAX_NAME), *map(str, (row.failed, row.recovered, row.open))] for row in rows
    ]
    return ["Failed calls recovered or open, by tool", *_laid(["tool", "failed", "recovered", "open"], laid)]


def _metric(found: ModelComparison) -> Measure | None:
    return next((one for one in found.measures if one.id == found.metric), None)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f}%)" if whole else "-"


def fitted(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table in as many parts as the width asks for; the first column stands before each part."""
    widths = [max(cell_len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    lines: list[str] = []
    start = 1
    while start < len(head):
        end, used = start, widths[0]
        while end < len(head) and (end == start or used + len(_GAP) + widths[end] <= width):
            used += len(_GAP) + widths[end]
            end += 1
        chosen = [0, *range(start, end)]
        lines += [""] if lines else []
        lines += _laid([head[place] for place in chosen], [[row[place] for place in chosen] for row in rows])
        start = end
    return lines


def _laid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns two spaces apart: the first to the left, the others to the right."""
    widths = [max(cell_len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    lines = []
    for line in (head, *rows):
        cells = [
            cell + " " * (width - cell_len(cell)) if column == 0 else " " * (width - cell_len(cell)) + cell
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append(_GAP.join(cells).rstrip())
    return lines
