"""Two runs, or two models of one run, side by side."""

from __future__ import annotations

from pydantic import Field

from replay.records.base import Record
from replay.records.verdict import FAILURES, Outcome


class SideSummary(Record):
    """How one side did."""

    name: str
    calls: int
    judged: int
    """Calls that count in one of the five categories."""
    failed: int
    outcomes: dict[Outcome, int]


class Change(Record):
    """One call that came out otherwise, or that only one side has."""

    model: str
    trajectory: str
    call: str
    tool: str | None
    before: Outcome | None
    """None for a call that only the second side has."""
    after: Outcome | None
    """None for a call that only the first side has."""
    message: str


class ToolChange(Record):
    """How the failures of a tool changed."""

    tool: str
    before: int
    after: int
    calls_before: int
    calls_after: int


class MetricChange(Record):
    """One alignment metric on both sides."""

    model: str
    metric: str
    before: float
    after: float


class Comparison(Record):
    """What is different."""

    first: SideSummary
    second: SideSummary
    common: int
    """Calls that both sides have: the same model, trajectory, position and tool."""
    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    unjudged: tuple[Change, ...]
    """Calls that one side could judge and the other could not."""
    new: tuple[Change, ...]
    gone: tuple[Change, ...]
    tools: tuple[ToolChange, ...]
    metrics: tuple[MetricChange, ...]
    p_value: float | None
    """Of the two-proportion test over the shares of failed calls; None where there are too few calls for it."""
    test_summary: str = Field(serialization_alias="words")
    """What the test says."""

    @property
    def new_failures(self) -> tuple[Change, ...]:
        """Failed calls that only the second side has."""
        return tuple(change for change in self.new if change.after in FAILURES)
