"""The door to what replay.diagnosis and replay.reports know: findings of a call, and its report as Markdown."""

from __future__ import annotations

from replay.diagnosis import TrajectoryContext, findings_of_call
from replay.records.finding import Finding
from replay.reports import FORMATS, Selection, render
from replay.runfile import Run
from replay.runfile.lookup import TrajectoryPlace
from replay.runfile.trajectory_queries import StoredTrajectory

__all__ = ["FORMATS", "findings", "load_context", "markdown", "reference", "render_report"]


def load_context(run: Run, stored: StoredTrajectory) -> TrajectoryContext:
    """All that findings are drawn from, for one trajectory."""
    return TrajectoryContext.load(run, TrajectoryPlace(stored.row, stored.path, stored.model, stored.record.id))


def findings(context: TrajectoryContext, position: str) -> tuple[Finding, ...]:
    """What is wrong with a call, and what would have been right."""
    return findings_of_call(context, position)


def reference(stored: StoredTrajectory, position: str) -> str:
    """The call's id, unmistakable in its run."""
    return f"{stored.path}:{stored.record.id}:{position}"


def markdown(run: Run, stored: StoredTrajectory, position: str) -> str:
    """The diagnosis of a call, for an issue tracker."""
    return render(run, "markdown", Selection(call=reference(stored, position)))


def render_report(run: Run, format_: str, *, call: str | None = None, filter_text: str | None = None) -> str:
    """A report: of one call, of the calls that a filter matches, or of the whole run."""
    return render(run, format_, Selection(call=call, filter=filter_text))
