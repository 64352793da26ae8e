"""One HTML file for a whole run: no network, no server, nothing but the browser that opens it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from replay import __version__
from replay.diagnosis import RunTally
from replay.records import Outcome
from replay.reports import Selection
from replay.reports.html_data import (
    alignment_data,
    call_data,
    finding_data,
    reference_data,
    trajectory_data,
    what_went_wrong,
)
from replay.reports.model_figures import finding_cells, heat_map, leaderboard, ranked_of
from replay.reports.page_share import shown_share
from replay.reports.report_scope import MAX_LISTED, ReportScope, scope_of
from replay.reports.svg import STYLE, figure
from replay.runfile import Run
from replay.runfile.filters import Vocabulary
from replay.runfile.task_runs import finding_counts
from replay.safety.redaction import Redactor
from replay.safety.text import printable

_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

MAX_DRAWN: Final = 50
"""Models that figures draw."""

_CHOICE_KEYS: Final = ("outcome", "reason", "evidence", "certainty", "drift", "caused", "passed")
"""Keys of the filter of which the values are known whatever the run holds."""


def render(run: Run, selection: Selection) -> str:
    """The page."""
    whole = scope_of(run, selection)
    scope, left_out = shown_share(whole)
    models = [_model(model) for model in whole.models]
    data = _data(scope, whole.outcomes)
    style = Markup(_part("page.css") + STYLE)  # noqa: S704 - ours
    script = Markup(_part("filter.js") + _part("graph.js") + _part("page.js"))  # noqa: S704 - ours
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(_part("page.html"))
    return page.render(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=Markup(_embedded(data)),  # noqa: S704 - every character that could end the element is escaped
        left_out=" ".join(filter(None, (left_out, _models_left_out(whole.model_count)))),
        figure=figure(whole.models[:MAX_DRAWN]),
        narrow_figure=figure(whole.models[:MAX_DRAWN], narrow=True),
        model_figures=list(_model_figures(whole)),
        models=_cleaned(models[:MAX_LISTED]),
        findings=data["findings"],
        failures=data["failures"],
        causes=data["causes"],
        labels=data["outcomes"],
        servers=data["servers"],
        alignments=data["alignments"],
        title=data["title"],
        totals=data["totals"],
        version=__version__,
    )


def _models_left_out(count: int) -> str:
    """What the page does not show of very many models; "" where it shows all."""
    if count <= MAX_DRAWN:
        return ""
    listed = f", and the table the first {MAX_LISTED:,}" if count > MAX_LISTED else ""
    return f"Of {count:,} models the bars show the first {MAX_DRAWN}{listed}; replay compare has all."


def _model_figures(scope: ReportScope) -> Iterator[tuple[str, Markup, Markup]]:
    """Of a whole run of several models: each further figure with its title, wide and narrow."""
    if not scope.whole or not 2 <= scope.model_count <= MAX_DRAWN:
        return
    from replay.charts import leaderboard as figure_data
    from replay.charts.options import FigureOptions

    data = figure_data.gather(scope.run, FigureOptions())
    measure, ranked = ranked_of(data)
    yield data.title, leaderboard(measure, ranked), leaderboard(measure, ranked, narrow=True)
    found = finding_counts(scope.run.connection)
    cells = finding_cells([(model.model, model.trajectories) for model in scope.models], found)
    if cells.columns:
        yield "Trajectories with each kind of finding", heat_map(cells), heat_map(cells, narrow=True)


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
        trajectories.append(trajectory_data(diagnosis))
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
        return "Tool calls, replayed"
    if scope.filter is not None:
        return f"Calls that match {scope.filter}"
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


def _policy(style: str, script: str) -> str:
    """Nothing is loaded from anywhere, and no script or style but ours is run."""
    ours = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return f"default-src 'none'; {ours}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    return (files("replay.reports") / "page" / name).read_text("utf-8")


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
