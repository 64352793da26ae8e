"""One trajectory, ready to be pasted into a bug report."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis import Diagnosis, TrajectoryContext
from replay.diagnosis.phrasing import counted
from replay.records import FAILURES, Outcome
from replay.records.files import CallRow
from replay.reports.call_text import call_text, outcome_label
from replay.reports.markdown_call import finding_lines, versions
from replay.reports.markdown_syntax import block, code, details, prose, table
from replay.reports.report_scope import ReportScope
from replay.runfile.run_command import load_command
from replay.runfile.trajectory_queries import stored_trajectory, sub_agents

_MAX_CALLS = 400
_MAX_FAILURES = 20
_MAX_SUB_AGENTS = 40


def trajectory_report(scope: ReportScope) -> str:
    """Title, what happened, the findings, every call in a table, the failures, versions, how to reproduce it."""
    diagnosis = next(scope.diagnoses())
    context, rows = diagnosis.context, scope.rows(diagnosis)
    failed = [row for row in rows if row.outcome in FAILURES]
    sections = [
        f"# Trajectory {code(context.trajectory.id, 100)} of {code(context.trajectory.model, 60)}: {_headline(rows)}",
        *_parent(context),
        *_sub_agents(scope),
        *_question(context),
        *([f"## What it shows\n\n{finding_lines(diagnosis.together)}"] if diagnosis.together else []),
        f"## The calls\n\n{_calls(rows)}",
        *([f"## The failures\n\n{_failures(diagnosis, failed)}"] if failed else []),
        f"## Versions\n\n{versions(context, rows)}",
        f"## How to reproduce it\n\n{_reproduce(scope, context, failed)}",
    ]
    return "\n\n".join(sections) + "\n"


def _headline(rows: list[CallRow]) -> str:
    counts = {outcome: sum(row.outcome is outcome for row in rows) for outcome in Outcome}
    return ", ".join(f"{count} {outcome.label}" for outcome, count in counts.items() if count)


def _parent(context: TrajectoryContext) -> Iterator[str]:
    parent = context.trajectory.parent
    if parent is not None:
        call = f", call {code(parent.call)}" if parent.call else ""
        yield f"A sub-agent, started by trajectory {code(parent.trajectory, 100)}{call}."


def _sub_agents(scope: ReportScope) -> Iterator[str]:
    stored = stored_trajectory(scope.run.connection, scope.places[0].row)
    started = sub_agents(scope.run.connection, stored) if stored is not None else []
    if started:
        named = [f"{code(one.name, 100)}{f' by call {code(one.call)}' if one.call else ''}" for one in started]
        yield f"It started {counted(len(named), 'sub-agent')}: {', '.join(named[:_MAX_SUB_AGENTS])}."


def _question(context: TrajectoryContext) -> Iterator[str]:
    parts = []
    if context.trajectory.task.question:
        parts.append(details("The question", block(context.trajectory.task.question, "text")))
    if context.trajectory.final_reply:
        parts.append(details("The final reply", block(context.trajectory.final_reply, "text")))
    if parts:
        yield "\n\n".join(parts)


def _calls(rows: list[CallRow]) -> str:
    lines = [
        [
            code(row.call),
            code(row.tool or "?", 80),
            prose(outcome_label(row)) if row.outcome is Outcome.SUCCESS else f"**{prose(outcome_label(row))}**",
            prose(row.drift or ""),
            "" if row.outcome is Outcome.SUCCESS else prose(row.message, 160),
        ]
        for row in rows[:_MAX_CALLS]
    ]
    more = f"\n\n*And {len(rows) - _MAX_CALLS} more.*" if len(rows) > _MAX_CALLS else ""
    return table(["call", "tool", "outcome", "drift", "why"], lines) + more


def _failures(diagnosis: Diagnosis, failed: list[CallRow]) -> str:
    parts = []
    for row in failed[:_MAX_FAILURES]:
        findings = diagnosis.calls.get(row.call, ())
        call = details("The call", block(call_text(diagnosis.context, row.call), "text", 2000))
        explanation = finding_lines(findings) if findings else f"- {prose(row.message, 400)}"
        parts.append(
            f"### {code(row.call)} {code(row.tool or '?', 80)}: {prose(outcome_label(row))}\n\n{explanation}\n\n{call}"
        )
    if len(failed) > _MAX_FAILURES:
        parts.append(f"*And {len(failed) - _MAX_FAILURES} more.*")
    return "\n\n".join(parts)


def _reproduce(scope: ReportScope, context: TrajectoryContext, failed: list[CallRow]) -> str:
    command = load_command(scope.run.connection)
    again = command.classify(context.file, "again.db")
    if not failed:
        return block(again, "sh")
    call = scope.call_id(context, failed[0].call)
    return block(f"{again}\n{command.shrink(str(scope.run.path), call)}", "sh")
