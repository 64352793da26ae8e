"""One trajectory, ready to be pasted into a bug report."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis import Diagnosis, TrajectoryContext
from replay.records import FAILURES, Outcome
from replay.records.files import CallRow
from replay.reports.markdown_call import finding_lines, shell, versions
from replay.reports.md import block, code, details, prose, table
from replay.reports.scope import Scope, short_id
from replay.reports.shared import call_text, outcome_words

_MOST_CALLS = 400
_MOST_FAILURES = 20


def trajectory_report(scope: Scope) -> str:
    """Title, what happened, the findings, every call in a table, the failures, versions, how to reproduce it."""
    diagnosis = next(scope.diagnoses())
    case, rows = diagnosis.case, scope.rows(diagnosis)
    failed = [row for row in rows if row.outcome in FAILURES]
    sections = [
        f"# Trajectory {code(case.trajectory.id, 100)} of {code(case.trajectory.model, 60)}: {_headline(rows)}",
        *_question(case),
        *([f"## What it shows\n\n{finding_lines(diagnosis.together)}"] if diagnosis.together else []),
        f"## The calls\n\n{_calls(rows)}",
        *([f"## The failures\n\n{_failures(diagnosis, failed)}"] if failed else []),
        f"## Versions\n\n{versions(case, rows)}",
        f"## How to reproduce it\n\n{_reproduce(scope, case, failed)}",
    ]
    return "\n\n".join(sections) + "\n"


def _headline(rows: list[CallRow]) -> str:
    counts = {outcome: sum(row.outcome is outcome for row in rows) for outcome in Outcome}
    return ", ".join(f"{count} {outcome.label}" for outcome, count in counts.items() if count)


def _question(case: TrajectoryContext) -> Iterator[str]:
    parts = []
    if case.trajectory.task.question:
        parts.append(details("The question", block(case.trajectory.task.question, "text")))
    if case.trajectory.final_reply:
        parts.append(details("The final reply", block(case.trajectory.final_reply, "text")))
    if parts:
        yield "\n\n".join(parts)


def _calls(rows: list[CallRow]) -> str:
    lines = [
        [
            code(row.call),
            code(row.tool or "?", 80),
            prose(outcome_words(row)) if row.outcome is Outcome.SUCCESS else f"**{prose(outcome_words(row))}**",
            prose(row.drift or ""),
            "" if row.outcome is Outcome.SUCCESS else prose(row.message, 160),
        ]
        for row in rows[:_MOST_CALLS]
    ]
    more = f"\n\n*And {len(rows) - _MOST_CALLS} more.*" if len(rows) > _MOST_CALLS else ""
    return table(["call", "tool", "outcome", "drift", "why"], lines) + more


def _failures(diagnosis: Diagnosis, failed: list[CallRow]) -> str:
    parts = []
    for row in failed[:_MOST_FAILURES]:
        findings = diagnosis.calls.get(row.call, ())
        call = details("The call", block(call_text(diagnosis.case, row.call), "text", 2000))
        said = finding_lines(findings) if findings else f"- {prose(row.message, 400)}"
        parts.append(
            f"### {code(row.call)} {code(row.tool or '?', 80)}: {prose(outcome_words(row))}\n\n{said}\n\n{call}"
        )
    if len(failed) > _MOST_FAILURES:
        parts.append(f"*And {len(failed) - _MOST_FAILURES} more.*")
    return "\n\n".join(parts)


def _reproduce(scope: Scope, case: TrajectoryContext, failed: list[CallRow]) -> str:
    run = shell(str(scope.run.path))
    again = f"replay classify {shell(case.file)} --servers servers.yaml --run again.db"
    if not failed:
        return block(again, "sh")
    call = shell(short_id(case, failed[0].call, scope.run))
    return block(f"{again}\nreplay shrink {run} --call {call} --servers servers.yaml -o repro", "sh")
