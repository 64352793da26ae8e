"""One call, ready to be pasted into a bug report."""

from __future__ import annotations

import json
from collections.abc import Iterator

from replay import __version__
from replay.diagnosis import TrajectoryContext, explains, findings_of_call
from replay.diagnosis.phrasing import listed, unique
from replay.outcomes import RULES
from replay.records import Outcome
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.reports.md import block, code, details, prose, table
from replay.reports.scope import Scope, short_id
from replay.reports.shared import EVIDENCE, answer_text, call_text, outcome_words

_FOLDED: int = 900
"""Characters of an answer from which it is folded away."""


def call_report(scope: Scope) -> str:
    """Title, what happened, the call, then and now, the rule, the fix, versions, and how to reproduce it."""
    case = TrajectoryContext.load(scope.run, scope.places[0])
    position = scope.call or ""
    row = case.rows[position]
    findings = findings_of_call(case, position)
    call = short_id(case, position, scope.run)
    sections = [
        f"# {title(case, row)}",
        what_happened(row, findings),
        f"## The call\n\n{block(call_text(case, position), _language(case, position))}",
        *_answers(case, position),
        f"## Why it is {prose(outcome_words(row))}\n\n{_rule(case, row)}",
        *_violations(row),
        *_fix(findings),
        *_before(case, position),
        f"## Versions\n\n{versions(case, [row])}",
        f"## How to reproduce it\n\n{_reproduce(scope, row, call)}",
    ]
    return "\n\n".join(sections) + "\n"


def title(case: TrajectoryContext, row: CallRow) -> str:
    """`excel/read_range: not found (TASK:s6c1)`."""
    tool = code(row.tool or case.calls[row.call].name or "call without a name", 80)
    return f"{tool}: {prose(outcome_words(row))} ({code(f'{row.trajectory}:{row.call}', 120)})"


def what_happened(row: CallRow, findings: tuple[Finding, ...]) -> str:
    """Two sentences: what was done and how it came out, and the most telling finding."""
    model = f"{code(row.model, 60)} called {code(row.tool or '(no tool)', 80)}"
    first = f"{model}, and the call came out as **{prose(outcome_words(row))}**."
    return f"{first} {prose(findings[0].sentence if findings else row.message, 600)}"


def versions(case: TrajectoryContext, rows: list[CallRow]) -> str:
    """The servers that the calls went to, and this program."""
    names = dict.fromkeys(row.server for row in rows if row.server)
    servers = [case.servers[name] for name in names if name in case.servers]
    lines = [
        [
            code(server.name, 60),
            code(server.title or "?", 60),
            code(server.version or "?", 40),
            code(server.protocol or "?", 20),
            code((server.digest or "?")[:12]),
        ]
        for server in servers
    ]
    mine = f"mcp-replay {code(__version__)}"
    if not rows:
        return mine
    if not lines:
        how = listed(unique(EVIDENCE[row.evidence] for row in rows))
        if all(row.evidence in ("format", "registry") for row in rows):
            return f"{mine}; no server was asked, as {how} decided."
        whose = "this call" if len(rows) == 1 else "these calls"
        return f"{mine}; the run knows of no server for {whose}: {how} decided."
    header = ["server in the fleet", "name of itself", "version", "protocol", "digest"]
    return f"{table(header, lines)}\n\n{mine}"


def finding_lines(findings: tuple[Finding, ...]) -> str:
    """A list: each finding, what would have been right, and its id."""
    lines = []
    for finding in findings:
        sure = "" if finding.certainty == "certain" else f", {finding.certainty}"
        fix = f" **{prose(finding.suggestion, 400)}**" if finding.suggestion else ""
        lines.append(f"- {prose(finding.sentence, 600)}{fix} ({code(finding.kind)}{sure})")
    return "\n".join(lines)


def _language(case: TrajectoryContext, position: str) -> str:
    return "json" if case.calls[position].arguments is not None else "text"


def _answers(case: TrajectoryContext, position: str) -> Iterator[str]:
    row, call = case.rows[position], case.calls[position]
    then, now = answer_text(call.answer), answer_text(case.answers.get(position))
    if not then and not now:
        return
    if then and then == now:
        yield f"## Then and now\n\nThe recorded answer and the one on replay are the same:\n\n{_answer(then)}"
        return
    parts = ["## Then and now"]
    if then:
        parts.append(f"**Then** (recorded, {_outcome(row.recorded)}):\n\n{_answer(then)}")
    if now:
        parts.append(f"**Now** (replayed, {_outcome(row.replayed)}):\n\n{_answer(now)}")
    else:
        parts.append("**Now**: the call was not re-issued.")
    if row.difference:
        parts.append(f"First difference: {prose(row.difference, 300)}")
    yield "\n\n".join(parts)


def _answer(text: str) -> str:
    shown = block(text, "text", 6000)
    return shown if len(text) <= _FOLDED else details(f"{len(text)} characters", shown)


def _outcome(outcome: Outcome | None) -> str:
    return outcome.label if outcome is not None else "not judged"


def _rule(case: TrajectoryContext, row: CallRow) -> str:
    sentences = {rule.id: rule.sentence for rule in RULES}
    known = sentences.get(row.rule)
    meaning = f": {prose(known)}" if known else ""
    lines = [
        f"- Rule {code(row.rule)}{meaning}",
        f"- Evidence: {EVIDENCE[row.evidence]}; certainty: {row.certainty}",
        f"- Verdict: {prose(row.message, 600)}",
    ]
    if row.caused_by and explains(case, row.caused_by):
        lines.append(f"- Caused by: {code(row.caused_by)}")
    if row.gap:
        lines.append(f"- State gap: {code(row.gap)} did not happen again as recorded")
    return "\n".join(lines)


def _violations(row: CallRow) -> Iterator[str]:
    if not row.violations:
        return
    lines = [
        [code(one.pointer or "(the arguments)"), code(one.keyword), prose(one.message, 300), _expected(one.expected)]
        for one in row.violations
    ]
    yield f"## Schema violations\n\n{table(['place', 'keyword', 'violation', 'the schema wants'], lines)}"


def _expected(value: object) -> str:
    return "" if value is None else code(json.dumps(value, ensure_ascii=False, default=str), 200)


def _fix(findings: tuple[Finding, ...]) -> Iterator[str]:
    if findings:
        yield f"## Likely fix\n\n{finding_lines(findings)}"


def _before(case: TrajectoryContext, position: str) -> Iterator[str]:
    """The calls whose values this one uses."""
    ancestors = case.graph.ancestors(position)
    if not ancestors:
        return
    lines = [
        [code(before), code(case.rows[before].tool or "?", 80), prose(outcome_words(case.rows[before]))]
        for before in ancestors
        if before in case.rows
    ]
    shown = table(["call", "tool", "outcome"], lines)
    yield f"## What it depends on\n\nValues of these calls flow into its arguments:\n\n{shown}"


def _reproduce(scope: Scope, row: CallRow, call: str) -> str:
    if row.outcome is Outcome.INCONCLUSIVE:
        again = f"replay classify {shell(row.file)} --servers servers.yaml --run again.db"
        return f"There is no failure of the call to show yet. To judge it again:\n\n{block(again, 'sh')}"
    run = shell(str(scope.run.path))
    commands = (
        f"replay shrink {run} --call {shell(call)} --servers servers.yaml -o repro\n"
        "replay classify repro/repro.trajectory.json --servers repro/repro.servers.yaml --run repro.db --fresh"
    )
    return (
        "The smallest sequence of calls that shows it, as a file, and the command that replays it:\n\n"
        f"{block(commands, 'sh')}"
    )


def shell(word: str) -> str:
    """A word as a shell takes it."""
    from shlex import quote

    return quote(word)
