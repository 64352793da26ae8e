"""Reference and prediction of a task side by side, and how its metrics came about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from rich.segment import Segment

from replay.alignment.tasks import SignedTask
from replay.records import Call
from replay.records.alignment import COLUMNS, AlignedCall, AlignedModel, AlignedTask, MissedCall, Why
from replay.runfile.alignment_queries import AlignedTrajectory, ReferenceCall
from replay_tui.pages.lines import json_lines
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import Palette

_REASONS: Final[dict[Why, str]] = {
    "no-such-tool": "its tool is not on the other side",
    "below-threshold": "the best candidate is not similar enough",
    "taken": "every candidate that is similar enough went to another call",
    "illegal": "it is not a call at all",
}
"""Why a call has no partner, in words."""
_MARK: Final = 14


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
        name = fitted(f"{reference_label(call.index)} {call.position} {call.name}", width - _MARK - 1)
        row = [Segment(name, styles.cursor if is_here else None), Segment(" "), Segment(fitted(mark, _MARK), style)]
        rows.append(row)
    return rows


def reference_label(index: int) -> str:
    """How a reference call is called where there is little room: by its number, as on the screen of the alignment."""
    return f"R{index}"


def write_counterpart(writer: Writer, aligned: AlignedTrajectory, call: Call) -> None:
    """The section of a call's page: its counterpart in the reference with what differs, or why it has none."""
    styles = writer.styles
    counterpart, own = aligned.counterpart(call.position), aligned.aligned(call.position)
    if counterpart is not None:
        reference, similarity = counterpart
        strength = "strong" if similarity >= aligned.model.tau_strong else "weak"
        name = f"{reference_label(reference.index)} {reference.position} {reference.name}"
        writer.heading("In the reference", f"{name} · similarity {similarity:.3f}, {strength}")
        theirs, ours = _lines(reference.signature), _argument_lines(call)
        if theirs != ours:
            writer.difference(theirs, ours, ("reference", "this call"))
        else:
            writer.prose("the same arguments", styles.dim)
    elif own is not None and own.why is not None:
        writer.heading("In the reference", f"no counterpart: {own.kind.replace('_', ' ')}")
        writer.prose(_without_partner(own, "R"), styles.dim)


def _without_partner(call: AlignedCall | MissedCall, other: str) -> str:
    """Why a call has no partner; `other` is the letter of the side on which it would be."""
    assert call.why is not None
    if (best := call.best) is None:
        return _REASONS[call.why]
    own = "R" if other == "P" else "P"
    taken = f", which went to {own}{best.taken_by}" if best.taken_by is not None else ""
    return f"{_REASONS[call.why]}; best candidate {other}{best.call} at {best.similarity:.3f}{taken}"


def _argument_lines(call: Call) -> list[str]:
    if call.arguments is None:
        return (call.raw or "").split("\n")
    return _lines(json.dumps(call.arguments, sort_keys=True))


def _lines(text: str) -> list[str]:
    return [line.text for line in json_lines(json.loads(text))]


_MAX_INVERSIONS: Final = 50


@dataclass(frozen=True)
class TaskFacts:
    """What the pages are written from."""

    model: AlignedModel
    task: AlignedTask
    reference: Sequence[ReferenceCall]
    predicted: SignedTask | None
    """None where the run does not hold the prediction any more."""


def pairs_page(facts: TaskFacts, width: int, styles: Palette) -> list[Row]:
    """Matched pairs on one line, then what is missing, and what is extra."""
    writer = Writer(width, styles)
    _metrics(writer, facts)
    writer.heading("Reference and prediction")
    half = max(10, (writer.width - 17) // 2)
    titles = fitted("reference", half), fitted("similarity", 15), "prediction"
    writer.rows.append([Segment(f"{titles[0]} {titles[1]} {titles[2]}", styles.dim)])
    matches = {reference: (predicted, similarity) for reference, predicted, similarity in facts.task.matches}
    missed = {call.index: call for call in facts.task.missed}
    for call in facts.reference:
        left = f"R{call.index} {call.position} {call.name}"
        if call.index in matches:
            predicted, similarity = matches[call.index]
            _pair(writer, facts, call, predicted, similarity, half)
        else:
            row = [Segment(fitted(left, half)), Segment(" "), Segment(fitted("── missing", 15), styles.removed)]
            writer.rows.append(row)
            if (miss := missed.get(call.index)) is not None and miss.why is not None:
                writer.spans((_without_partner(miss, "P"), writer.styles.dim), indent=4)
    extra = [call for call in facts.task.calls if call.why is not None]
    for aligned in extra:
        _extra(writer, aligned, half)
    return writer.rows


def _metrics(writer: Writer, facts: TaskFacts) -> None:
    task, styles = facts.task, writer.styles
    writer.spans(
        (f"{task.id}  ", styles.strong),
        (
            f"{task.matched} of {task.total_gt_calls} reference calls matched, {task.total_pred_calls} predicted",
            styles.dim,
        ),
    )
    spans = []
    for name in COLUMNS:
        spans += [
            (name.replace("_", "\u00a0") + "\u00a0", styles.dim),
            (f"{getattr(task, name):.3f}   ", styles.strong),
        ]
    writer.spans(*spans)


def _pair(writer: Writer, facts: TaskFacts, call: ReferenceCall, index: int, similarity: float, half: int) -> None:
    styles = writer.styles
    strong = similarity >= facts.model.tau_strong
    aligned = next((call for call in facts.task.calls if call.index == index), None)
    letter = f"{aligned.outcome.letter} " if aligned and aligned.outcome else ""
    right = f"P{index} {aligned.position if aligned else ''} {letter}{aligned.name if aligned else ''}"
    line = "══" if strong else "──"
    mark = f"{line}{similarity:.3f} {'strong' if strong else 'weak'}"
    style = styles.added if strong else styles.cursor_away
    writer.rows.append(
        [
            Segment(fitted(f"R{call.index} {call.position} {call.name}", half)),
            Segment(" "),
            Segment(fitted(mark, 15), style),
            Segment(" "),
            Segment(fitted(right, half)),
        ]
    )
    predicted = _signature(facts.predicted, index)
    if predicted is not None and predicted != call.signature:
        writer.difference(_lines(call.signature), _lines(predicted), ("reference", "prediction"))


def _extra(writer: Writer, call: AlignedCall, half: int) -> None:
    styles = writer.styles
    letter = f"{call.outcome.letter} " if call.outcome else ""
    index = "" if call.index is None else f"P{call.index} "
    words = f"{index}{call.position} {letter}{call.name or '(no name)'}"
    mark = Segment(fitted(f"── {call.kind.value}", 15), styles.violation)
    writer.rows.append([Segment(" " * (half + 1)), mark, Segment(f" {fitted(words, half)}")])
    writer.spans((_without_partner(call, "R"), writer.styles.dim), indent=4)


def metrics_page(facts: TaskFacts, width: int, styles: Palette) -> list[Row]:
    """The step matrix and the inversions."""
    writer = Writer(width, styles)
    _metrics(writer, facts)
    step_pairs = list(_step_pairs(facts))
    writer.heading("Step matrix", "how many calls of a reference step landed in a predicted one")
    columns = sorted({step for _, step, _ in step_pairs})
    rows = sorted({call.step for call in facts.reference})
    writer.rows.append([Segment("      " + "".join(f"{f'p{column + 1}':>5}" for column in columns), styles.dim)])
    for row in rows:
        calls = sum(call.step == row for call in facts.reference)
        cells = [sum((step, landed_in) == (row, column) for step, landed_in, _ in step_pairs) for column in columns]
        drawn = [Segment(f"{cell or '·':>5}", styles.strong if cell else styles.faint) for cell in cells]
        landed = sum(1 for cell in cells if cell)
        split = f"   in {landed} steps: 1/{landed}" if landed > 1 else ""
        note = f"   {sum(cells)} of {calls}{split}"
        writer.rows.append([Segment(f"{f'r{row + 1}':>6}", styles.dim), *drawn, Segment(note, styles.dim)])
    _order(writer, facts, step_pairs)
    writer.heading(
        "Definitions",
        f"{facts.model.definitions}; strong from {facts.model.tau_strong:g}, weak from {facts.model.tau_weak:g}",
    )
    return writer.rows


def _order(writer: Writer, facts: TaskFacts, step_pairs: Sequence[tuple[int, int, str]]) -> None:
    pairs = [(a, b) for a, b in combinations(step_pairs, 2) if a[0] != b[0] and a[1] != b[1]]
    inverted = [(a, b) for a, b in pairs if (a[0] - b[0]) * (a[1] - b[1]) < 0]
    writer.heading("Order", f"{len(inverted)} of {len(pairs)} comparable pairs stand the other way round")
    for first, second in inverted[:_MAX_INVERSIONS]:
        writer.prose(f"{first[2]} before {second[2]} in the reference, after it in the prediction", indent=2)


def _step_pairs(facts: TaskFacts) -> Iterator[tuple[int, int, str]]:
    """Of each matched pair the steps on both sides, and its name."""
    steps = {call.index: call.step for call in facts.predicted.calls} if facts.predicted else {}
    reference = {call.index: call for call in facts.reference}
    for number, predicted, _ in sorted(facts.task.matches):
        if number in reference and predicted in steps:
            yield reference[number].step, steps[predicted], f"R{number} {reference[number].name}"


def _signature(task: SignedTask | None, index: int) -> str | None:
    return None if task is None else next((call.signature for call in task.calls if call.index == index), None)
