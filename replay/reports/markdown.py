"""Markdown for issue trackers and the page of a CI job: a call, a trajectory, or the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from replay.diagnosis import Diagnosis, RunTally, TrajectoryContext
from replay.diagnosis.phrasing import counted
from replay.records import FAILURES, Outcome, qualified_name
from replay.records.files import CallRow
from replay.records.finding import KnownFailure
from replay.reports import Selection
from replay.reports.basis import unread_calls, unread_label
from replay.reports.call_text import call_text, outcome_label
from replay.reports.markdown_call import call_report, finding_lines, versions
from replay.reports.markdown_syntax import block, code, details, prose
from replay.reports.scope import ReportScope, basis_lines, scope_of
from replay.reports.tables import Column, Table
from replay.runfile import Run
from replay.runfile.run_inputs import load_command
from replay.runfile.trajectory_queries import stored_trajectory, sub_agents

_MAX_CALLS: Final = 400
_MAX_FAILURES: Final = 20
_MAX_SUB_AGENTS: Final = 40

_CALLS: Final = Column("calls", "number")
_TOOL: Final = Column("tool", "name", 80)
_OUTCOME: Final = Column("outcome")
_EXAMPLE: Final = Column("example", "name", 120)
_SAYS: Final = Column("what it says", limit=160)


def render(run: Run, selection: Selection) -> str:
    """The report that the selection asks for."""
    scope = scope_of(run, selection)
    if selection.call is not None:
        return call_report(scope)
    sections = _trajectory(scope) if selection.trajectory is not None else _run(scope)
    return "\n\n".join(sections) + "\n"


def _run(scope: ReportScope) -> Iterator[str]:
    """The table of the models, what was found, what went wrong most, root causes, servers."""
    wanted = scope.selection.filter
    yield f"# The calls that match {code(wanted, 200)}" if wanted else "# Tool calls, judged"
    outcomes = scope.outcomes
    calls, unjudged = sum(outcomes.values()), outcomes[Outcome.INCONCLUSIVE]
    failed = calls - unjudged - outcomes[Outcome.SUCCESS]
    whose = counted(scope.model_count, "model")
    yield f"{counted(calls, 'call')} of {whose}: **{failed} failed**, {unjudged} inconclusive."
    yield _models(scope)
    yield from map(prose, basis_lines(scope))
    names = ", ".join(f"{outcome.label} is *{outcome.paper_name}*" for outcome in Outcome if outcome.paper_name)
    yield f"In the terms of the M3-Bench paper: {names}. Well formed counts the last two."
    findings, known, matching = _from_calls(scope)
    if findings:
        yield f"## What it shows\n\n{findings}"
    if scope.whole:
        yield from _failures(scope)
    yield from known
    if scope.whole:
        yield from _causes(scope)
    yield from matching
    yield from _servers(scope)


def _models(scope: ReportScope) -> str:
    judged = [outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE]
    rows = [
        [
            model.model,
            model.trajectories,
            model.calls,
            *(_share(model.outcomes[outcome], model.conclusive) for outcome in judged),
            _share(model.well_formed, model.conclusive),
            model.outcomes[Outcome.INCONCLUSIVE],
        ]
        for model in scope.models
    ]
    if scope.unread is not None:
        files = scope.unread.files
        rows.append([unread_label(files), "-", unread_calls(files), *["-"] * (len(judged) + 2)])
    numbers = ["trajectories", "calls", *(outcome.label for outcome in judged), "well formed", "inconclusive"]
    columns = [Column("model", "name", 60), *(Column(head, "number") for head in numbers)]
    hidden = scope.model_count - len(scope.models)
    more = f"\n\n*And {hidden} more models.*" if hidden > 0 else ""
    return Table(columns, rows).markdown() + more


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.1f} %)" if of else str(count)


def _from_calls(scope: ReportScope) -> tuple[str, list[str], list[str]]:
    """What is said of the calls one by one: the findings, the known failures, and the calls that a filter matches."""
    tally = RunTally()
    known: dict[str, tuple[KnownFailure, CallRow, str]] = {}
    counts: Counter[str] = Counter()
    found = 0
    listed: list[list[str]] = []
    for diagnosis in scope.diagnoses():
        scope.count(diagnosis, tally)
        rows = scope.rows(diagnosis) if scope.selection.known or scope.selection.filter else []
        for row in rows if scope.selection.known else ():
            mark, noted = scope.mark(diagnosis, row)
            if mark is not None and noted is not None:
                known.setdefault(mark, (noted, row, scope.call_id(diagnosis.context, row.call)))
                counts[mark] += 1
        if scope.selection.filter:
            found += len(rows)
            listed += [
                [scope.call_id(diagnosis.context, row.call), row.tool or "?", outcome_label(row), row.message]
                for row in rows[: _MAX_CALLS - len(listed)]
            ]
    table = Table([Column("call", "name", 120), _TOOL, _OUTCOME, _SAYS], listed).markdown()
    matching = f"## The calls\n\n{table}{_more(found)}"
    return (
        finding_lines(scope.findings(tally)),
        list(_known(known, counts)),
        [matching] if scope.selection.filter else [],
    )


def _known(known: dict[str, tuple[KnownFailure, CallRow, str]], counts: Counter[str]) -> Iterator[str]:
    """The failures that somebody noted, with how many calls have each."""
    rows = [
        [counts[mark], mark, first.tool or "?", first.outcome.label, address, noted.words]
        for mark, (noted, first, address) in known.items()
    ]
    columns = [_CALLS, Column("fingerprint", "name"), _TOOL, _OUTCOME, _EXAMPLE, Column("what is known", limit=400)]
    yield from _section("Known failures", columns, rows)


def _failures(scope: ReportScope) -> Iterator[str]:
    rows = [
        [
            group.calls,
            group.outcome.label,
            qualified_name(group.server, group.tool) or "?",
            group.example,
            group.said,
        ]
        for group in scope.summary.failures
    ]
    yield from _section("What went wrong most", [_CALLS, _OUTCOME, _TOOL, _EXAMPLE, _SAYS], rows)


def _causes(scope: ReportScope) -> Iterator[str]:
    rows = [
        [
            cause.address,
            cause.tool,
            cause.outcome.label,
            ", ".join(f"{count} {outcome.label}" for outcome, count in cause.followed.items()),
        ]
        for cause in scope.summary.root_causes
    ]
    yield from _section("Root causes", [Column("call", "name", 120), _TOOL, _OUTCOME, Column("what followed")], rows)


def _servers(scope: ReportScope) -> Iterator[str]:
    rows = [
        [
            server.name,
            server.title or "?",
            server.version or "?",
            server.protocol or "?",
            f"did not start: {server.error}" if server.error else len(server.tools),
        ]
        for server in scope.run.servers().values()
    ]
    columns = [
        Column("server", "name", 60),
        Column("name of itself", "name", 60),
        Column("version", "name", 40),
        Column("protocol", "name", 20),
        Column("tools", limit=160),
    ]
    yield from _section("Servers", columns, rows)


def _section(title: str, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    if rows:
        yield f"## {title}\n\n{Table(columns, rows).markdown()}"


def _more(calls: int) -> str:
    return f"\n\n*And {calls - _MAX_CALLS} more.*" if calls > _MAX_CALLS else ""


def _trajectory(scope: ReportScope) -> Iterator[str]:
    """Title, what happened, the findings, every call in a table, the failures, versions, how to reproduce it."""
    diagnosis = next(scope.diagnoses())
    context, rows = diagnosis.context, scope.rows(diagnosis)
    trajectory = context.trajectory
    failed = [row for row in rows if row.outcome in FAILURES]
    counts = Counter(row.outcome for row in rows)
    shown = ", ".join(f"{counts[outcome]} {outcome.label}" for outcome in Outcome if counts[outcome])
    yield f"# Trajectory {code(trajectory.id, 100)} of {code(trajectory.model, 60)}: {shown}"
    if (parent := trajectory.parent) is not None:
        call = f", call {code(parent.call)}" if parent.call else ""
        yield f"A sub-agent, started by trajectory {code(parent.trajectory, 100)}{call}."
    yield from _sub_agents(scope)
    texts = [("The question", trajectory.task.question), ("The final reply", trajectory.final_reply)]
    yield from (details(title, block(text, "text")) for title, text in texts if text)
    if diagnosis.together:
        yield f"## What it shows\n\n{finding_lines(diagnosis.together)}"
    yield f"## The calls\n\n{_calls(rows)}"
    if failed:
        yield "## The failures"
        yield from _failed_calls(diagnosis, failed)
    yield f"## Versions\n\n{versions(context, rows)}"
    yield f"## How to reproduce it\n\n{_reproduce(scope, context, failed)}"


def _sub_agents(scope: ReportScope) -> Iterator[str]:
    stored = stored_trajectory(scope.run.connection, scope.places[0].row)
    started = sub_agents(scope.run.connection, stored) if stored is not None else []
    if started:
        named = [f"{code(agent.name, 100)}{f' by call {code(agent.call)}' if agent.call else ''}" for agent in started]
        yield f"It started {counted(len(named), 'sub-agent')}: {', '.join(named[:_MAX_SUB_AGENTS])}."


def _calls(rows: Sequence[CallRow]) -> str:
    lines = [
        [row.call, row.tool or "?", prose(outcome_label(row)), row.drift or "", None]
        if row.outcome is Outcome.SUCCESS
        else [row.call, row.tool or "?", f"**{prose(outcome_label(row))}**", row.drift or "", row.message]
        for row in rows[:_MAX_CALLS]
    ]
    outcome = Column("outcome", "markdown")
    columns = [Column("call", "name"), _TOOL, outcome, Column("drift"), Column("why", limit=160)]
    return Table(columns, lines).markdown() + _more(len(rows))


def _failed_calls(diagnosis: Diagnosis, failed: Sequence[CallRow]) -> Iterator[str]:
    for row in failed[:_MAX_FAILURES]:
        yield f"### {code(row.call)} {code(row.tool or '?', 80)}: {prose(outcome_label(row))}"
        yield finding_lines(diagnosis.calls.get(row.call, ())) or f"- {prose(row.message, 400)}"
        yield details("The call", block(call_text(diagnosis.context, row.call), "text", 2000))
    if len(failed) > _MAX_FAILURES:
        yield f"*And {len(failed) - _MAX_FAILURES} more.*"


def _reproduce(scope: ReportScope, context: TrajectoryContext, failed: Sequence[CallRow]) -> str:
    command = load_command(scope.run.connection)
    again = command.classify(context.file, "again.db")
    first = next((row.call for row in failed if not context.is_of_harness(row.call)), None)
    if first is None:
        return block(again, "sh")
    call = scope.call_id(context, first)
    return block(f"{again}\n{command.shrink(str(scope.run.path), call)}", "sh")
