"""What judges gave, as `replay judge` prints it: always with the number of judgements, and of missing ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replay.records.rating import JudgeReport, RatedModel
from replay.reports.tables import Column, Table
from replay.safety.redaction import Redactor
from replay.safety.text import one_line

_MAX_NAME: Final = 40
_MAX_LISTED: Final = 12
_TITLES: Final = {"m3": "M3-Bench", "mcpbench": "MCP-Bench", "mcpeval": "MCPEval"}


def judges_text(report: JudgeReport, width: int | None = None) -> str:
    """The report for a terminal, without secrets.

    Args:
        report: what the judges gave.
        width: columns of the terminal.
    """
    head = f"Judged by the rubric of {_TITLES[report.protocol]}: own prompt {', '.join(report.prompts)}"
    lines = [head, f"judges: {', '.join(one_line(name, _MAX_NAME) for name in report.judges)}", ""]
    lines += _models(report, width)
    lines += [f"note: {note}" for note in report.notes]
    lines += _agreement(report)
    lines += _contradictions(report)
    return Redactor().text("\n".join(lines) + "\n")


def _models(report: JudgeReport, width: int | None) -> list[str]:
    names = list(dict.fromkeys(measure.name for model in report.models for measure in model.measures))
    columns = [Column("model", "name"), *(Column(name.replace("_", " "), "number") for name in names)]
    columns += [Column("judgements", "number"), Column("missing", "number")]
    return Table(columns, [_row(model, names) for model in report.models]).text(width, _MAX_NAME)


def _row(model: RatedModel, names: list[str]) -> list[str]:
    measures = {measure.name: measure for measure in model.measures}
    cells = []
    for name in names:
        measure = measures.get(name)
        spread = f" ± {measure.deviation:.3f}" if measure and measure.deviation is not None else ""
        cells.append(f"{measure.mean:.3f}{spread}" if measure else "-")
    return [model.model, *cells, str(model.judgements), str(model.missing)]


def _agreement(report: JudgeReport) -> Iterator[str]:
    for model in report.models:
        if model.gap is not None:
            together = "-" if model.correlation is None else f"{model.correlation:.3f}"
            name = one_line(model.model, _MAX_NAME)
            yield f"{name}: trajectory less completion {model.gap:+.3f}, correlation {together}"
    if report.agreement:
        yield ""
        columns = [Column("judges"), *(Column(head, "number") for head in ("scores", "Spearman", "mean difference"))]
        rows = [
            [
                f"{pair.first} and {pair.second}",
                pair.judgements,
                "-" if pair.spearman is None else f"{pair.spearman:.3f}",
                f"{pair.mean_difference:.3f}",
            ]
            for pair in report.agreement
        ]
        yield from Table(columns, rows).text()
    if report.coefficient_of_variation is not None:
        yield f"coefficient of variation among judges, of task completion: {report.coefficient_of_variation:.1%}"


def _contradictions(report: JudgeReport) -> Iterator[str]:
    if not report.contradictions:
        return
    yield ""
    yield f"scores that the verdicts or the answers speak against: {len(report.contradictions)}"
    for entry in report.contradictions[:_MAX_LISTED]:
        where = f"{one_line(entry.model, _MAX_NAME)}:{one_line(entry.trajectory, _MAX_NAME)}"
        gives = f"{one_line(entry.judge, _MAX_NAME)} gives {entry.measure} {entry.score:.2f}"
        yield f"  {where}: {gives}; {one_line(entry.why, 200)}"
    if len(report.contradictions) > _MAX_LISTED:
        yield f"  ... and {len(report.contradictions) - _MAX_LISTED} more; --json has them all"
