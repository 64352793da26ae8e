"""A whole run, as the summary page of a CI job shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.diagnosis import RunTally
from replay.diagnosis.phrasing import counted
from replay.records import Outcome, qualified_name
from replay.records.files import CallRow
from replay.records.finding import KnownFailure
from replay.records.summary import RootCause
from replay.reports.call_text import outcome_label
from replay.reports.markdown_call import finding_lines
from replay.reports.markdown_syntax import code, prose, table
from replay.reports.report_scope import ReportScope

_MAX_CALLS = 400


def run_report(scope: ReportScope) -> str:
    """The table of the models, what was found, what went wrong most, root causes, servers."""
    title = "# Tool calls, replayed" if scope.filter is None else f"# The calls that match {code(scope.filter, 200)}"
    sections = [
        title,
        _headline(scope),
        _models(scope),
        _paper_names(),
        *_findings(scope),
        *_failures(scope),
        *_known(scope),
        *_causes(scope),
        *_matching(scope),
        *_servers(scope),
    ]
    return "\n\n".join(sections) + "\n"


def _headline(scope: ReportScope) -> str:
    outcomes = scope.outcomes
    calls, unjudged = sum(outcomes.values()), outcomes[Outcome.INCONCLUSIVE]
    failed = calls - unjudged - outcomes[Outcome.SUCCESS]
    whose = counted(scope.model_count, "model")
    return f"{counted(calls, 'call')} of {whose}: **{failed} failed**, {unjudged} inconclusive."


def _models(scope: ReportScope) -> str:
    judged = [outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE]
    lines = [
        [
            code(model.model, 60),
            str(model.trajectories),
            str(model.calls),
            *(_share(model.outcomes[outcome], model.conclusive) for outcome in judged),
            _share(model.well_formed, model.conclusive),
            str(model.outcomes[Outcome.INCONCLUSIVE]),
        ]
        for model in scope.models
    ]
    header = ["model", "trajectories", "calls", *(outcome.label for outcome in judged), "well formed", "inconclusive"]
    more = f"\n\n*And {scope.model_count - len(lines)} more models.*" if scope.model_count > len(lines) else ""
    return table(header, lines, frozenset(range(1, len(header)))) + more


def _paper_names() -> str:
    names = ", ".join(f"{outcome.label} is *{outcome.paper_name}*" for outcome in Outcome if outcome.paper_name)
    return f"In the terms of the M3-Bench paper: {names}. Well formed counts the last two."


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.1f} %)" if of else str(count)


def _findings(scope: ReportScope) -> Iterator[str]:
    tally = RunTally()
    for diagnosis in scope.diagnoses():
        scope.count(diagnosis, tally)
    findings = scope.findings(tally)
    if findings:
        yield f"## What it shows\n\n{finding_lines(findings)}"


def _matching(scope: ReportScope) -> Iterator[str]:
    """Each call that the filter matches."""
    if scope.filter is None:
        return
    found = 0
    lines: list[list[str]] = []
    for diagnosis in scope.diagnoses():
        rows = scope.rows(diagnosis)
        found += len(rows)
        lines += [
            [
                code(scope.call_id(diagnosis.context, row.call), 120),
                code(row.tool or "?", 80),
                prose(outcome_label(row)),
                prose(row.message, 160),
            ]
            for row in rows[: _MAX_CALLS - len(lines)]
        ]
    more = f"\n\n*And {found - _MAX_CALLS} more.*" if found > _MAX_CALLS else ""
    yield f"## The calls\n\n{table(['call', 'tool', 'outcome', 'what it says'], lines)}{more}"


def _failures(scope: ReportScope) -> Iterator[str]:
    if not scope.whole:
        return
    groups = scope.summary.failures
    if groups:
        lines = [
            [
                str(group.calls),
                prose(group.outcome.label),
                code(qualified_name(group.server, group.tool) or "?", 80),
                code(f"{group.example_trajectory}:{group.example_call}", 120),
                prose(group.example_message, 160),
            ]
            for group in groups
        ]
        header = ["calls", "outcome", "tool", "example", "what it says"]
        yield f"## What went wrong most\n\n{table(header, lines, frozenset({0}))}"


def _known(scope: ReportScope) -> Iterator[str]:
    """The failures that somebody noted, with how many calls have each."""
    seen: dict[str, tuple[KnownFailure, CallRow]] = {}
    counts: Counter[str] = Counter()
    for diagnosis in scope.diagnoses() if scope.known else ():
        for row in scope.rows(diagnosis):
            mark, noted = scope.mark(diagnosis, row)
            if mark is not None and noted is not None:
                seen.setdefault(mark, (noted, row))
                counts[mark] += 1
    if seen:
        lines = [
            [
                str(counts[mark]),
                code(mark),
                code(first.tool or "?", 80),
                prose(first.outcome.label),
                code(f"{first.trajectory}:{first.call}", 120),
                prose(noted.words, 400),
            ]
            for mark, (noted, first) in seen.items()
        ]
        header = ["calls", "fingerprint", "tool", "outcome", "example", "what is known"]
        yield f"## Known failures\n\n{table(header, lines, frozenset({0}))}"


def _causes(scope: ReportScope) -> Iterator[str]:
    causes: tuple[RootCause, ...] = scope.summary.root_causes if scope.whole else ()
    if causes:
        lines = [
            [
                code(f"{cause.trajectory}:{cause.call}", 120),
                code(cause.tool, 80),
                prose(cause.outcome.label),
                prose(", ".join(f"{count} {outcome.label}" for outcome, count in cause.followed.items())),
            ]
            for cause in causes
        ]
        yield f"## Root causes\n\n{table(['call', 'tool', 'outcome', 'what followed'], lines)}"


def _servers(scope: ReportScope) -> Iterator[str]:
    servers = scope.run.servers().values()
    if servers:
        lines = [
            [
                code(server.name, 60),
                code(server.title or "?", 60),
                code(server.version or "?", 40),
                code(server.protocol or "?", 20),
                prose(f"did not start: {server.error}", 160) if server.error else str(len(server.tools)),
            ]
            for server in servers
        ]
        yield f"## Servers\n\n{table(['server', 'name of itself', 'version', 'protocol', 'tools'], lines)}"
