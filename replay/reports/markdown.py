"""Markdown for issue trackers: a call, a trajectory, or the summary of a run."""

from __future__ import annotations

from replay.reports import Selection
from replay.reports.markdown_call import call_report
from replay.reports.markdown_run import run_report
from replay.reports.markdown_trajectory import trajectory_report
from replay.reports.report_scope import scope_of
from replay.runfile import Run


def render(run: Run, selection: Selection) -> str:
    """The report that the selection asks for."""
    scope = scope_of(run, selection)
    if selection.call is not None:
        return call_report(scope)
    return trajectory_report(scope) if selection.trajectory is not None else run_report(scope)
