"""Markdown for issue trackers."""

from __future__ import annotations

from replay.diagnosis import Case, findings_of_call
from replay.reports import Selection
from replay.runfile import Run
from replay.runfile.lookup import TrajectoryPlace, find_call


def render(run: Run, selection: Selection) -> str:
    """The report of a call."""
    place = find_call(run, selection.call or "")
    case = Case.load(run, TrajectoryPlace(*place[:4]))
    return "\n".join(finding.sentence for finding in findings_of_call(case, place.call))
