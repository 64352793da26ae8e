"""One HTML file for a whole run: no network, no server, nothing but the browser that opens it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup

from replay.charts import svg
from replay.charts.counts import outcomes_of, trajectory_finding_of
from replay.charts.metrics import leaderboard
from replay.charts.options import ChartOptions
from replay.diagnosis import RunTally
from replay.records import Outcome
from replay.records.chart import Chart
from replay.reports import Selection
from replay.reports.basis import unread_calls, unread_label
from replay.reports.html_data import (
    alignment_data,
    call_data,
    finding_data,
    reference_data,
    trajectory_data,
    what_went_wrong,
)
from replay.reports.page import page, part
from replay.reports.scope import MAX_MODELS, ReportScope, basis_lines, scope_of, shown_share
from replay.runfile import Run
from replay.runfile.filters import Vocabulary
from replay.runfile.task_runs import finding_counts
from replay.safety.redaction import Redactor
from replay.safety.text import printable

_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

MAX_DRAWN: Final = 50
"""Models that charts draw."""
_MAX_DRAWN_KINDS: Final = 12
"""Columns of the heat map."""

_CHOICE_KEYS: Final = ("outcome", "reason", "fault", "recorded", "evidence", "certainty", "drift", "caused", "passed")
"""Keys of the filter of which the values are known whatever the run holds."""


def render(run: Run, selection: Selection) -> str:
    """The page."""
    whole = scope_of(run, selection)
    scope, left_out = shown_share(whole)
    unread, models = whole.unread, [_model(model) for model in whole.models]
    data = _data(scope, whole.outcomes)
    outcomes = outcomes_of(whole.models[:MAX_DRAWN])
    return page(
        "page.html",
        style=part("page.css") + svg.STYLE,
        script=part("filter.js", "graph.js", "page.js"),
        data=Markup(_embedded(data)),  # noqa: S704 - every character that could end the element is escaped
        left_out=" ".join(filter(None, (left_out, _models_left_out(whole.model_count)))),
        outcomes=_drawn(outcomes),
        charts=[(chart.title, *_drawn(chart)) for chart in _charts_of_models(whole)],
        models=_cleaned(models[:MAX_MODELS]),
        unread=_cleaned([unread_label(unread.files), unread_calls(unread.files)] if unread is not None else []),
        basis=_cleaned(basis_lines(whole)),
        findings=data["findings"],
        failures=data["failures"],
        causes=data["causes"],
        labels=data["outcomes"],
        servers=data["servers"],
        alignments=data["alignments"],
        title=data["title"],
        totals=data["totals"],
    )


def render_chart(run: Run, selection: Selection) -> str:
    """The chart of the outcomes alone, as a drawing that needs no style sheet: a bar a model."""
    return f"{svg.stacked_bars(outcomes_of(scope_of(run, selection).models), alone=True)}\n"


def _drawn(chart: Chart) -> tuple[Markup, Markup]:
    """The chart as a wide page and a narrow one show it, which name models."""
    wide, narrow = svg.drawn(chart), svg.drawn(chart, narrow=True)
    return Markup(Redactor().text(wide)), Markup(Redactor().text(narrow))  # noqa: S704 - drawn escapes names


def _models_left_out(count: int) -> str:
    """What the page does not show of very many models; "" where it shows all."""
    if count <= MAX_DRAWN:
        return ""
    listed = f", and the table the first {MAX_MODELS:,}" if count > MAX_MODELS else ""
    return f"Of {count:,} models the bars show the first {MAX_DRAWN}{listed}; replay compare has all."


def _charts_of_models(scope: ReportScope) -> Iterator[Chart]:
    """Of a whole run of several models: what else is drawn of them."""
    if not scope.whole or not 2 <= scope.model_count <= MAX_DRAWN:
        return
    yield leaderboard(scope.run, ChartOptions())
    counts = {(row.model, row.kind): row.trajectories for row in finding_counts(scope.run.connection)}
    totals = {model.model: model.trajectories for model in scope.models}
    findings = trajectory_finding_of(counts, totals, _MAX_DRAWN_KINDS)
    if findings.columns:
        yield findings


def _data(scope: ReportScope, outcomes: Mapping[Outcome, int]) -> dict[str, Any]:
    trajectories: list[Any] = []
    calls: list[Any] = []
    tally = RunTally()
    for diagnosis in scope.diagnoses():
        scope.count(diagnosis, tally)
        rows = scope.rows(diagnosis)
        beside = reference_data(scope, diagnosis)
        calls += [
            call_data(diagnosis, row, len(trajectories), *scope.mark(diagnosis, row), beside.get(row.call))
            for row in rows
        ]
        trajectories.append(trajectory_data(diagnosis, scope.addresses))
    document = {
        "title": _title(scope),
        "totals": _totals(outcomes),
        "outcomes": {str(outcome): outcome.label for outcome in Outcome},
        "letters": {str(outcome): outcome.letter for outcome in Outcome},
        "choices": {key: Vocabulary().values(key) for key in _CHOICE_KEYS},
        "trajectories": trajectories,
        "calls": calls,
        "findings": [finding_data(finding) for finding in scope.findings(tally)],
        **what_went_wrong(scope, calls, trajectories),
        "servers": list(_servers(scope)),
        "alignments": alignment_data(scope),
    }
    cleaned: dict[str, Any] = _cleaned(document)
    return cleaned


def _cleaned(value: Any) -> Any:
    """Without secrets, and with hostile characters as the escapes that they are."""
    return _printable(Redactor().json(value))


def _title(scope: ReportScope) -> str:
    if scope.whole:
        return "Tool calls, judged"
    if scope.matching is not None:
        return f"Calls that match {scope.selection.filter}"
    names = list(dict.fromkeys(place.trajectory for place in scope.places))
    if scope.call is not None:
        return f"{names[0]}:{scope.call}"
    return names[0] if len(names) == 1 else scope.places[0].model


def _totals(outcomes: Mapping[Outcome, int]) -> dict[str, int]:
    calls = sum(outcomes.values())
    succeeded, unjudged = outcomes[Outcome.SUCCESS], outcomes[Outcome.INCONCLUSIVE]
    return {"calls": calls, "failed": calls - succeeded - unjudged, "success": succeeded, "inconclusive": unjudged}


def _model(model: Any) -> dict[str, Any]:
    def share(count: int) -> list[Any]:
        return [count, f"{100 * count / model.conclusive:.1f} %" if model.conclusive else ""]

    shares = {str(outcome): share(count) for outcome, count in model.outcomes.items()}
    shares[str(Outcome.INCONCLUSIVE)][1] = ""
    return {
        "model": model.model,
        "trajectories": model.trajectories,
        "calls": model.calls,
        "outcomes": shares,
        "well_formed": share(model.well_formed),
        "reasons": [f"{count} {reason}" for reason, count in model.reasons.items()],
    }


def _servers(scope: ReportScope) -> Iterator[dict[str, Any]]:
    for server in scope.run.servers().values():
        yield {
            "name": server.name,
            "title": server.title or "?",
            "version": server.version or "?",
            "protocol": server.protocol or "?",
            "tools": len(server.tools),
            "digest": (server.digest or "?")[:12],
            "error": server.error or "",
            "notes": list(server.notes),
        }


def _embedded(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _printable(value: Any) -> Any:
    """Control and bidirectional characters as the escapes that they are, in every text."""
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else printable(value)
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value
