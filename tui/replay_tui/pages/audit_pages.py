"""What an audit says of one run of a task."""

from __future__ import annotations

from collections.abc import Sequence

from replay.diagnosis.phrasing import counted
from replay.records.audit import AuditedFault, AuditedRun
from replay_tui.pages.writer import Row, Writer
from replay_tui.theme import Palette

_DOUBTS = {
    None: "decided as it was reported",
    "environment": "undecided: lost, with the environment on the path",
    "unfounded": "undecided: passed on nothing that is shown",
    "reference": "undecided: lost, and its reference fails itself",
}
_REPORTED = {True: "reported as passed", False: "reported as lost", None: "not said to have passed or not"}


def run_page(run: AuditedRun, faults: Sequence[AuditedFault], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    writer.prose(f"{run.model}, {_REPORTED[run.passed]}; {_DOUBTS[run.doubt]}", styles.dim)
    for fault in faults:
        writer.heading(f"{fault.call.call} {fault.tool or '(no name)'}", f"{fault.reason}, {fault.bearing}")
        writer.prose(fault.message)
        after = f"; {counted(len(fault.dependents), 'call')} depend on it" if fault.dependents else ""
        writer.prose(f"The model {fault.then}{after}. {fault.why}")
    if not faults:
        writer.prose("The environment failed none of its calls.")
    return writer.rows
