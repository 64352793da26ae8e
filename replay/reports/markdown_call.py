"""One call, ready to be pasted into a bug report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from replay import __version__
from replay.analysis.known_failures import fingerprint
from replay.diagnosis import TrajectoryContext, explains, findings_of_call
from replay.diagnosis.phrasing import listed
from replay.outcomes import answer_rules
from replay.records import ERRORS_OF_TOOLS, FAILURES, EnvelopeKind, EnvelopeLayer, Outcome
from replay.records.files import CallRow
from replay.records.finding import Finding
from replay.reports.call_text import EVIDENCE, answer_text, call_text, outcome_label
from replay.reports.markdown_syntax import block, code, details, prose
from replay.reports.scope import ReportScope
from replay.reports.tables import Column, Table
from replay.runfile.run_inputs import load_command

_MAX_UNFOLDED: Final = 900
"""Characters of an answer from which it is folded away."""
_SERVER_COLUMNS: Final = (
    Column("server in the fleet", "name", 60),
    Column("name of itself", "name", 60),
    Column("version", "name", 40),
    Column("protocol", "name", 20),
    Column("digest", "name"),
)
_VIOLATION_COLUMNS: Final = (
    Column("place", "name"),
    Column("keyword", "name"),
    Column("violation", limit=300),
    Column("the schema wants", "name", 200),
)


def call_report(scope: ReportScope) -> str:
    """Title, what happened, the call, both answers, the rule, the fix, versions, and how to reproduce it."""
    context = TrajectoryContext.load(scope.run, scope.places[0])
    position = scope.call or ""
    row, recorded = context.rows[position], context.calls[position]
    outer, findings = recorded.dispatched_by, findings_of_call(context, position)
    call = scope.call_id(context, position)
    heading = "Likely fix" if any(finding.suggestion for finding in findings) else "What the call shows"
    sections = [
        f"# {title(context, row)}",
        what_happened(row, findings),
        f"## The call\n\n{block(call_text(context, position), 'text' if recorded.arguments is None else 'json')}",
        *_fingerprint(scope, context, row, findings),
        f"It was carried by a call of {code(outer.name, 80)}." if outer is not None else "",
        *_answers(context, position),
        f"## What the server wrote to stderr during the call\n\n{block(row.stderr, 'text', 2000)}"
        if row.stderr
        else "",
        f"## Why it is {prose(outcome_label(row))}\n\n{_rule(context, row)}",
        *_violations(row),
        f"## {heading}\n\n{finding_lines(findings)}" if findings else "",
        *_before(context, position),
        f"## Versions\n\n{versions(context, [row])}",
        f"## How to reproduce it\n\n{_reproduce(scope, context, row, call)}",
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _fingerprint(
    scope: ReportScope, context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]
) -> Iterator[str]:
    """By what the failure is known again, and what is known of it."""
    mark = fingerprint(context, row, findings)
    if mark is not None:
        noted = scope.selection.known.get(mark)
        yield f"Fingerprint of the failure: {code(mark)}{f'; known: {prose(noted.words, 400)}' if noted else ''}."


def title(context: TrajectoryContext, row: CallRow) -> str:
    """`excel/read_range: not found (TASK:s6c1)`."""
    tool = code(row.tool or context.calls[row.call].name or "call without a name", 80)
    return f"{tool}: {prose(outcome_label(row))} ({code(f'{row.trajectory}:{row.call}', 120)})"


def what_happened(row: CallRow, findings: tuple[Finding, ...]) -> str:
    """Two sentences: what was done and how it was judged, and the most telling finding."""
    model = f"{code(row.model, 60)} called {code(row.tool or '(no tool)', 80)}"
    outcome = f"{model}, and the call was judged **{prose(outcome_label(row))}**."
    return f"{outcome} {prose(findings[0].sentence if findings else row.message, 600)}"


def versions(context: TrajectoryContext, rows: list[CallRow]) -> str:
    """The servers that the calls went to, and this program."""
    names = dict.fromkeys(row.server for row in rows if row.server)
    lines = [
        [server.name, server.title or "?", server.version or "?", server.protocol or "?", (server.digest or "?")[:12]]
        for server in (context.servers[name] for name in names if name in context.servers)
    ]
    program = f"mcp-replay {code(__version__)}"
    if not rows:
        return program
    if not lines:
        how = listed(list(dict.fromkeys(EVIDENCE[row.evidence] for row in rows)))
        if all(row.evidence in ("format", "registry") for row in rows):
            return f"{program}; no server was asked, as {how} decided."
        whose = "this call" if len(rows) == 1 else "these calls"
        return f"{program}; the run knows of no server for {whose}: {how} decided."
    return f"{Table(_SERVER_COLUMNS, lines).markdown()}\n\n{program}"


def finding_lines(findings: tuple[Finding, ...]) -> str:
    """A list: each finding, what would have been right, and its id."""
    lines = []
    for finding in findings:
        sure = "" if finding.certainty == "certain" else f", {finding.certainty}"
        fix = f" **{prose(finding.suggestion, 400)}**" if finding.suggestion else ""
        lines.append(f"- {prose(finding.sentence, 600)}{fix} ({code(finding.kind)}{sure})")
    return "\n".join(lines)


def _answers(context: TrajectoryContext, position: str) -> Iterator[str]:
    row, call = context.rows[position], context.calls[position]
    recorded, replayed = answer_text(call.answer), answer_text(context.answers.get(position))
    if not recorded and not replayed:
        return
    if recorded and recorded == replayed:
        yield f"## Recorded and replayed\n\nBoth answers are the same:\n\n{_answer(recorded)}"
        return
    parts = ["## Recorded and replayed"]
    if recorded:
        parts.append(f"**Recorded** ({_outcome(row.recorded)}):\n\n{_answer(recorded)}")
    if replayed:
        parts.append(f"**Replayed** ({_outcome(row.replayed)}):\n\n{_answer(replayed)}")
    else:
        parts.append("**Replayed**: the call was not re-issued.")
    if row.difference:
        parts.append(f"First difference: {prose(row.difference, 300)}")
    yield "\n\n".join(parts)


def _answer(text: str) -> str:
    shown = block(text, "text", 6000)
    return shown if len(text) <= _MAX_UNFOLDED else details(f"{len(text)} characters", shown)


def _outcome(outcome: Outcome | None) -> str:
    return outcome.label if outcome is not None else "not judged"


def _rule(context: TrajectoryContext, row: CallRow) -> str:
    sentences = {rule.id: rule.sentence for rule in answer_rules()}
    known = sentences.get(row.rule)
    meaning = f": {prose(known)}" if known else ""
    lines = [
        f"- Rule {code(row.rule)}{meaning}",
        f"- Evidence: {EVIDENCE[row.evidence]}; certainty: {row.certainty}",
        f"- Verdict: {prose(row.message, 600)}",
    ]
    if row.layers:
        lines.append(f"- The answer came in {', in it '.join(map(_layer, row.layers))}")
    if row.caused_by and explains(context, row.caused_by, row.call):
        lines.append(f"- Caused by: {code(row.caused_by)}")
    if row.gap:
        lines.append(f"- State gap: {code(row.gap)} did not happen again as recorded")
    return "\n".join(lines)


_LAYERS: dict[EnvelopeKind, str] = {
    "result": "a whole tool result",
    "blocks": "content blocks written as JSON",
    "repr": "the Python repr of a result",
    "string": "a JSON string",
    "fence": "a code fence",
    "tag": "a tag",
    "heading": "a heading",
    "label": "a label",
}


def _layer(layer: EnvelopeLayer) -> str:
    """One envelope in words: what it is, its own words, and whether it says that the call failed."""
    words = f" {code(layer.label, 60)}" if layer.label else ""
    flags = {None: "", True: " that calls it an error", False: " that calls it no error"}
    return f"{_LAYERS[layer.kind]}{words}{flags[layer.flag]}"


def _violations(row: CallRow) -> Iterator[str]:
    lines = [
        [
            violation.pointer or "(the arguments)",
            violation.keyword,
            violation.message,
            None if violation.expected is None else json.dumps(violation.expected, ensure_ascii=False, default=str),
        ]
        for violation in row.violations
    ]
    if lines:
        yield f"## Schema violations\n\n{Table(_VIOLATION_COLUMNS, lines).markdown()}"


def _before(context: TrajectoryContext, position: str) -> Iterator[str]:
    """The calls whose values this one uses."""
    ancestors = context.graph.ancestors(position)
    if not ancestors:
        return
    rows = [context.rows[before] for before in ancestors if before in context.rows]
    lines = [[row.call, row.tool or "?", outcome_label(row)] for row in rows]
    shown = Table([Column("call", "name"), Column("tool", "name", 80), Column("outcome")], lines).markdown()
    yield f"## What it depends on\n\nValues of these calls flow into its arguments:\n\n{shown}"


def _reproduce(scope: ReportScope, context: TrajectoryContext, row: CallRow, call: str) -> str:
    command = load_command(scope.run.connection)
    again = block(command.classify(row.file, "again.db"), "sh")
    if context.is_of_harness(row.call):
        return f"A tool of the harness: no server has it, so it cannot be run again. To judge it again:\n\n{again}"
    if row.outcome not in FAILURES and row.reason not in ERRORS_OF_TOOLS:
        why = (
            "The call did not fail" if row.outcome is Outcome.SUCCESS else "There is no failure of the call to show yet"
        )
        return f"{why}. To judge it again:\n\n{again}"
    commands = (
        f"{command.shrink(str(scope.run.path), call)}\n"
        "replay classify repro/repro.trajectory.json --servers repro/repro.servers.yaml --run repro.db --fresh"
    )
    fleet = "" if command.servers else " The run was judged without servers: name the fleet file that has them."
    return (
        f"The smallest sequence of calls that shows it, as a file, and the command that replays it.{fleet}\n\n"
        f"{block(commands, 'sh')}"
    )
