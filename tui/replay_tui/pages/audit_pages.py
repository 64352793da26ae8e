"""What an audit says of one run of a task."""

from __future__ import annotations

from collections.abc import Sequence

from replay.diagnosis.phrasing import counted, listed
from replay.records.audit import AuditedFault, AuditedRun
from replay.reports.audit import DOUBTS, NUMBERS, REPORTED
from replay_tui.pages.writer import Row, Writer
from replay_tui.theme import Palette


def run_page(run: AuditedRun, faults: Sequence[AuditedFault], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    doubt = f"undecided: {DOUBTS[run.doubt]}" if run.doubt else "decided as it was reported"
    writer.prose(f"{run.model}, reported: {REPORTED[run.passed]}; {doubt}", styles.dim)
    for fault in faults:
        calls, bearing = listed(fault.positions), NUMBERS[fault.bearing]
        writer.heading(f"{calls} {fault.tool or '(no name)'}", f"{fault.cause}, {bearing}")
        writer.prose(fault.message)
        after = f"; {counted(len(fault.dependents), 'call')} depend on it" if fault.dependents else ""
        writer.prose(f"The model {fault.then}{after}. {fault.why}")
    if not faults:
        writer.prose("The environment failed none of its calls.")
    return writer.rows
