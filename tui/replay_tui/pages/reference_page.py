"""The reference's calls beside a trajectory's graph, and the counterpart of one call."""

from __future__ import annotations

import json
from typing import Final

from rich.segment import Segment

from replay.records import Call
from replay.records.alignment import AlignedCall, Why
from replay.runfile.alignment_queries import AlignedTrajectory
from replay_tui.pages.json_lines import json_lines
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import Palette

REASONS: Final[dict[Why, str]] = {
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
    found, own = aligned.counterpart(call.position), aligned.aligned(call.position)
    if found is not None:
        reference, similarity = found
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
        writer.prose(without_partner(own), styles.dim)


def without_partner(call: AlignedCall) -> str:
    """Why a predicted call has no counterpart."""
    assert call.why is not None
    if call.best is None:
        return REASONS[call.why]
    taken = f", which went to P{call.best.taken_by}" if call.best.taken_by is not None else ""
    return f"{REASONS[call.why]}; best candidate R{call.best.call} at {call.best.similarity:.3f}{taken}"


def _argument_lines(call: Call) -> list[str]:
    if call.arguments is None:
        return (call.raw or "").split("\n")
    return _lines(json.dumps(call.arguments, sort_keys=True))


def _lines(text: str) -> list[str]:
    return [line.text for line in json_lines(json.loads(text))]
