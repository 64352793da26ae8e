"""All there is to say of a trajectory's calls, of their counterparts in the reference, and of its task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.segment import Segment

from replay.dag import Graph
from replay.records import Answer, Call, DataEdge, Outcome, SchemaViolation, Verdict, fault_of, qualified_name
from replay.records.alignment import AlignedCall, MissedCall, Why
from replay.records.finding import Finding
from replay.runfile.alignment_queries import AlignedTrajectory
from replay.runfile.trajectory_queries import StoredCall, StoredTrajectory
from replay.safety.text import one_line
from replay_tui.json_lines import answer_kind, answer_lines, json_lines, text_lines
from replay_tui.rendering import fitted, news_first
from replay_tui.theme import Palette
from replay_tui.widgets.text_page import Row, Writer

_MAX_LINES = 400
_MAX_LINE_LENGTH = 4000
"""Of the arguments; all of them stand on a page of their own."""
_MAX_EDGES = 20
_REASONS: Final[dict[Why, str]] = {
    "no-such-tool": "its tool is not on the other side",
    "below-threshold": "the best candidate is not similar enough",
    "taken": "every candidate that is similar enough went to another call",
    "illegal": "it is not a call at all",
}
"""Why a call has no partner, in words."""
_MARK: Final = 14
"""Cells of what a reference call was matched with."""


@dataclass(frozen=True)
class CallFacts:
    """What the page is written from."""

    call: Call
    graph: Graph
    stored: StoredCall | None
    """None where the call has no verdict: it is not judged yet, or was left out."""
    answer: Answer | None
    """The answer that came when it was re-issued."""
    findings: Sequence[Finding] | None
    """None while they are looked for."""
    dependents: Sequence[str] = ()
    """Calls that failed because of this one."""
    aligned: AlignedTrajectory | None = None
    """The trajectory beside its reference, where the run has that."""


def call_page(facts: CallFacts, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    verdict = facts.stored.verdict if facts.stored else None
    _headline(writer, facts, verdict)
    if verdict is not None:
        _verdict_facts(writer, verdict, facts)
    _findings(writer, facts.findings)
    if facts.aligned is not None:
        _counterpart(writer, facts.aligned, facts.call)
    _arguments(writer, facts.call, verdict)
    _answers(writer, facts.call.answer, facts.answer, verdict)
    _stderr(writer, verdict)
    _flow(writer, facts)
    return writer.rows


def _headline(writer: Writer, facts: CallFacts, verdict: Verdict | None) -> None:
    styles = writer.styles
    stored = facts.stored
    name = qualified_name(stored.server, stored.tool) if stored else facts.call.name
    if verdict is None:
        writer.spans((f"{facts.call.position} ", styles.strong), (name or "(no name)", styles.strong))
        writer.prose("no verdict: not judged yet, or left out since another session file has the call too", styles.dim)
        return
    chip = f" {verdict.outcome.letter} {verdict.outcome.label} "
    writer.spans(
        (f"{facts.call.position} ", styles.strong),
        (f"{name or '(no name)'}  ", styles.strong),
        (chip.replace(" ", "\u00a0"), styles.bars[verdict.outcome]),
        (f"  {verdict.reason}" if verdict.reason else "", styles.dim),
    )
    writer.prose(news_first(verdict.message, verdict.rule))


def _verdict_facts(writer: Writer, verdict: Verdict, facts: CallFacts) -> None:
    outcomes = ""
    if verdict.recorded and verdict.replayed:
        outcomes = f"{verdict.recorded.label} recorded, {verdict.replayed.label} replayed"
    difference = f": {verdict.difference}" if verdict.difference else ""
    told = {
        "rule": verdict.rule,
        "evidence": f"{verdict.evidence}, {verdict.certainty}",
        "fault": fault_of(verdict.outcome, verdict.reason),
        "outcomes": outcomes,
        "drift": f"{verdict.drift}{difference}" if verdict.drift else "",
        "differs by": verdict.divergence,
        "caused by": verdict.caused_by,
        "made fail": ", ".join(facts.dependents),
        "gap": f"{verdict.gap} did not happen again as recorded" if verdict.gap else "",
        "nearest": ", ".join(verdict.nearest),
        "marks": ", ".join(verdict.findings),
        "trials": ", ".join(f"{name} {number}" for name, number in (verdict.trials or {}).items()),
        "took": f"{verdict.seconds:.2f} s" if verdict.seconds is not None else "",
    }
    marked = {"caused by", "made fail", "evidence" if verdict.certainty == "fallback" else ""}
    for name, value in told.items():
        if value:
            style = writer.styles.accent if name in marked else writer.styles.text
            writer.labelled(name, value, style, label_style=writer.styles.dim, indent=11)


def _findings(writer: Writer, findings: Sequence[Finding] | None) -> None:
    if not findings:
        return
    writer.heading("Diagnosis")
    for finding in findings:
        hedge = "" if finding.certainty == "certain" else f" ({finding.certainty})"
        writer.spans(("• ", writer.styles.accent), (finding.sentence, writer.styles.text), (hedge, writer.styles.dim))
        if finding.suggestion:
            writer.spans(("→ ", writer.styles.accent), (finding.suggestion, writer.styles.text), indent=2)


def _counterpart(writer: Writer, aligned: AlignedTrajectory, call: Call) -> None:
    """Its counterpart in the reference with what differs, or why it has none."""
    styles = writer.styles
    counterpart, own = aligned.counterpart(call.position), aligned.aligned(call.position)
    if counterpart is not None:
        reference, similarity = counterpart
        strength = "strong" if similarity >= aligned.model.tau_strong else "weak"
        writer.heading("In the reference", f"{reference.title} · similarity {similarity:.3f}, {strength}")
        theirs = signature_lines(reference.signature)
        unread = (call.raw or "").split("\n")
        ours = unread if call.arguments is None else signature_lines(json.dumps(call.arguments, sort_keys=True))
        if theirs != ours:
            writer.difference(theirs, ours, ("reference", "this call"))
        else:
            writer.prose("the same arguments", styles.dim)
    elif own is not None and own.why is not None:
        writer.heading("In the reference", f"no counterpart: {own.kind.replace('_', ' ')}")
        writer.prose(without_partner(own, "R"), styles.dim)


def without_partner(call: AlignedCall | MissedCall, other: str) -> str:
    """Why a call has no partner; `other` is the letter of the side on which it would be."""
    assert call.why is not None
    if (best := call.best) is None:
        return _REASONS[call.why]
    own = "R" if other == "P" else "P"
    taken = f", which went to {own}{best.taken_by}" if best.taken_by is not None else ""
    return f"{_REASONS[call.why]}; best candidate {other}{best.call} at {best.similarity:.3f}{taken}"


def signature_lines(text: str) -> list[str]:
    """Arguments, of which the JSON is given, line by line."""
    return [line.text for line in json_lines(json.loads(text))]


def _arguments(writer: Writer, call: Call, verdict: Verdict | None) -> None:
    violations = verdict.violations if verdict else ()
    rebound = {rebinding.pointer: rebinding for rebinding in verdict.rebound} if verdict else {}
    count = len(violations)
    note = f"{count} {'violation' if count == 1 else 'violations'} of the schema" if count else ""
    writer.heading("Arguments", note)
    if call.unreadable or call.arguments is None:
        writer.prose(f"the {call.unreadable or 'arguments'} could not be read; as written:", writer.styles.dim)
        writer.lines((call.raw or "").split("\n"), writer.styles.violation)
        return
    lines = json_lines(call.arguments)
    pointers = {line.pointer for line in lines}
    violations_at = _by_line(violations, pointers)
    wrong = writer.styles.outcome(Outcome.INVALID_ARGUMENTS)
    for line in lines[:_MAX_LINES]:
        here = violations_at.get(line.pointer, ()) if line.opens else ()
        style = writer.styles.violation if here and line.pointer else None
        writer.code(line.text[:_MAX_LINE_LENGTH], style, "✗ " if here else "  ")
        for violation in here:
            writer.spans((f"✗ {violation.keyword}: {violation.message}", wrong), indent=4)
        if line.opens and line.pointer in rebound:
            rebinding = rebound[line.pointer]
            text = (
                f"sent as {one_line(repr(rebinding.replayed), 200)}, from the replayed answer of {rebinding.producer}"
            )
            writer.spans((text, writer.styles.accent), indent=4)
    if len(lines) > _MAX_LINES or any(len(line.text) > _MAX_LINE_LENGTH for line in lines):
        writer.spans(("… more: v shows all", writer.styles.accent), indent=2)


def _by_line(violations: Sequence[SchemaViolation], pointers: set[str]) -> dict[str, list[SchemaViolation]]:
    """Each violation at the nearest place that is written."""
    by_line: dict[str, list[SchemaViolation]] = {}
    for violation in violations:
        pointer = violation.pointer
        while pointer and pointer not in pointers:
            pointer = pointer.rpartition("/")[0]
        by_line.setdefault(pointer, []).append(violation)
    return by_line


def _answers(writer: Writer, recorded: Answer | None, replayed: Answer | None, verdict: Verdict | None) -> None:
    if recorded is not None and replayed is not None:
        drift = verdict.drift if verdict and verdict.drift else "not compared"
        writer.heading("Recorded and replayed answer", f"{answer_kind(recorded)}, {answer_kind(replayed)} · {drift}")
        writer.difference(answer_lines(recorded), answer_lines(replayed))
    elif recorded is not None or replayed is not None:
        answer = recorded or replayed
        assert answer is not None
        writer.heading("Answer", f"{'recorded' if recorded else 'replayed'} {answer_kind(answer)}")
        writer.lines(answer_lines(answer))
    else:
        writer.heading("Answer")
        writer.prose("none recorded, and the call was not re-issued", writer.styles.dim)


def _stderr(writer: Writer, verdict: Verdict | None) -> None:
    if verdict is not None and verdict.stderr:
        writer.heading("What the server wrote to stderr during the call")
        writer.lines(verdict.stderr.split("\n"))


def _flow(writer: Writer, facts: CallFacts) -> None:
    position = facts.call.position
    into = facts.graph.into(position)
    out = [edge for edge in facts.graph.edges if edge.producer == position]
    if not into and not out:
        return
    writer.heading("Data")
    for edge in into[:_MAX_EDGES]:
        _edge(writer, f"▲ {edge.consumer_pointer} from {edge.producer}{_of(edge)}", edge)
    for edge in out[:_MAX_EDGES]:
        _edge(writer, f"▼ {edge.consumer} {edge.consumer_pointer} takes{_of(edge)}", edge)


def _of(edge: DataEdge) -> str:
    return f" {edge.producer_place} {edge.producer_pointer}"


def _edge(writer: Writer, text: str, edge: DataEdge) -> None:
    hedge = "" if edge.certainty == "certain" else " (likely)"
    writer.spans((text + hedge, writer.styles.text), (f"  {one_line(repr(edge.value), 80)}", writer.styles.dim))


def reference_page(aligned: AlignedTrajectory, selected: str | None, width: int, styles: Palette) -> list[Row]:
    """A line a reference call: the predicted call that it was matched with, or that it is missing."""
    rows: list[Row] = []
    here = aligned.counterpart(selected) if selected is not None else None
    for call in aligned.reference:
        matched = aligned.matched_with(call.index)
        mark, style = ("── missing", styles.removed)
        if matched is not None:
            strong = matched[1] >= aligned.model.tau_strong
            mark = f"{'══' if strong else '──'} {matched[0].position} {matched[1]:.3f}"
            style = styles.added if strong else styles.cursor_away
        is_here = here is not None and here[0].index == call.index
        name = fitted(call.title, width - _MARK - 1)
        row = [Segment(name, styles.cursor if is_here else None), Segment(" "), Segment(fitted(mark, _MARK), style)]
        rows.append(row)
    return rows


def task_page(stored: StoredTrajectory, width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer, record = Writer(width, styles), stored.record
    writer.spans((f"{record.id}  ", styles.strong), (stored.model, styles.text))
    facts = [record.task.type or "", f"{len(record.steps)} steps", f"{sum(len(s.calls) for s in record.steps)} calls"]
    if record.usage is not None:
        facts.append(f"{record.usage.input_tokens or 0:,} tokens in, {record.usage.output_tokens or 0:,} out")
    writer.prose(" · ".join(fact for fact in facts if fact), styles.dim)
    writer.prose(f"{record.source.file} {record.source.position} ({record.source.format})", styles.dim)
    if record.parent is not None:
        writer.prose(
            f"sub-agent of {record.parent.trajectory} {record.parent.call or ''} (u goes there)", styles.accent
        )
    writer.heading("Question")
    writer.prose((record.task.question or "not recorded")[:20_000])
    for image in record.task.images:
        writer.prose(f"[image {_image(image)}]", styles.accent)
    writer.heading("Final reply")
    writer.prose((record.final_reply or "none recorded")[:20_000])
    step_texts = [(number, step.text) for number, step in enumerate(record.steps, 1) if step.text]
    if step_texts:
        writer.heading("Said beside the calls")
        for number, text in step_texts[:200]:
            writer.spans((f"step {number} ", styles.accent), (text[:4000], styles.text))
    return writer.rows


def raw_page(stored: StoredTrajectory, position: str | None, width: int, styles: Palette) -> list[Row]:
    """What the model wrote of one call, as it was recorded."""
    writer = Writer(width, styles)
    call = next((call for call in stored.record.calls() if call.position == position), None)
    if call is None:
        return writer.rows
    writer.prose("as recorded" if call.raw is None else "verbatim", styles.dim)
    if call.raw is not None:
        writer.lines(call.raw.split("\n"))
        writer.blank()
    writer.lines(text_lines(call.model_dump_json(exclude_none=True, exclude={"raw", "answer"})))
    return writer.rows


def whole_call(call: Call, answer: Answer | None) -> str:
    """Everything of a call, as it came."""
    parts = [f"name: {call.name}"]
    if call.raw is not None:
        parts += ["", "as written:", call.raw]
    if call.arguments is not None:
        parts += ["", "arguments:", "\n".join(line.text for line in json_lines(call.arguments))]
    for title, shown in (("recorded answer:", call.answer), ("replayed answer:", answer)):
        if shown is not None:
            parts += ["", title, "\n".join(answer_lines(shown))]
    return "\n".join(parts)


def whole_task(stored: StoredTrajectory) -> str:
    """Everything that was asked and said."""
    record = stored.record
    step_texts = [f"step {number}: {step.text}" for number, step in enumerate(record.steps, 1) if step.text]
    parts = ["question:", record.task.question or "", "", "final reply:", record.final_reply or "", "", *step_texts]
    return "\n".join(parts)


def _image(reference: str) -> str:
    if reference.startswith("data:"):
        head, _, body = reference.partition(",")
        return f"{head[5:].split(';')[0]}, {len(body) * 3 // 4 / 1000:.1f} kB"
    return reference
