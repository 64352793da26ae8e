"""Reference and prediction of a task side by side, and how its metrics came about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from rich.segment import Segment

from replay.alignment import SignedTask
from replay.records.alignment import COLUMNS, AlignedCall, AlignedModel, AlignedTask, MissedCall
from replay.runfile.alignment_queries import ReferenceCall
from replay_tui.pages.json_lines import json_lines
from replay_tui.pages.reference_page import REASONS
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import LETTERS, Palette

_MAX_INVERSIONS = 50


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
            _reason(writer, missed.get(call.index), "P")
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
    letter = f"{LETTERS[aligned.outcome]} " if aligned and aligned.outcome else ""
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
        writer.difference(_pretty(call.signature), _pretty(predicted), ("reference", "prediction"))


def _extra(writer: Writer, call: AlignedCall, half: int) -> None:
    styles = writer.styles
    letter = f"{LETTERS[call.outcome]} " if call.outcome else ""
    index = "" if call.index is None else f"P{call.index} "
    words = f"{index}{call.position} {letter}{call.name or '(no name)'}"
    mark = Segment(fitted(f"── {call.kind.value}", 15), styles.violation)
    writer.rows.append([Segment(" " * (half + 1)), mark, Segment(f" {fitted(words, half)}")])
    _reason(writer, call, "R")


def _reason(writer: Writer, call: AlignedCall | MissedCall | None, candidate_side: str) -> None:
    if call is None or call.why is None:
        return
    best = call.best
    candidate = ""
    if best is not None:
        candidate = f"; best candidate {candidate_side}{best.call} at {best.similarity:.3f}"
        own_side = "R" if candidate_side == "P" else "P"
        candidate += f", which went to {own_side}{best.taken_by}" if best.taken_by is not None else ""
    writer.spans((REASONS[call.why] + candidate, writer.styles.dim), indent=4)


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


def _pretty(signature: str) -> list[str]:
    return [line.text for line in json_lines(json.loads(signature))]
