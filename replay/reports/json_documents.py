"""The JSON that `replay report`, `replay diff`, `replay tools` and `replay show` print."""

from __future__ import annotations

from typing import Final, Literal

from replay.records import Outcome, Record
from replay.records.base import JsonObject
from replay.records.comparison import RunDiff
from replay.records.files import REPORT_FORMAT, REPORT_VERSION, CallRow, TrajectoryFile, TrajectoryRow
from replay.records.finding import HISTORY_FORMAT, HISTORY_VERSION, Finding, History, KnownFailure, RecurringFailure
from replay.records.server import Server
from replay.records.tool_usage import ToolReport

DIFF_FORMAT: Final = "replay.diff"
DIFF_VERSION: Final = 1
SHOW_FORMAT: Final = "replay.show"
SHOW_VERSION: Final = 1
TOOLS_FORMAT: Final = "replay.tools"
TOOLS_VERSION: Final = 1


class ReportedTrajectory(TrajectoryRow):
    """A trajectory and what its calls show together."""

    findings: tuple[Finding, ...]


class ReportedCall(CallRow):
    """A verdict and what it means."""

    explanations: tuple[Finding, ...]
    fingerprint: str | None = None
    """Of a failure: the same in every run, task and model; None for a call that did not fail."""
    known: KnownFailure | None = None
    """What `replay-known.yaml` says of the failure."""


class ReportDocument(Record):
    """What `replay report --format json` writes."""

    format: Literal["replay.report"] = REPORT_FORMAT
    version: Literal[1] = REPORT_VERSION
    servers: tuple[Server, ...]
    trajectories: tuple[ReportedTrajectory, ...]
    calls: tuple[ReportedCall, ...]
    findings: tuple[Finding, ...]
    """Of the run; none where the report is about a trajectory or a call."""
    summary: JsonObject | None
    """None where the report is not about the whole run."""


class DiffDocument(RunDiff):
    """What `replay diff --json` prints of two runs, or of two models."""

    format: Literal["replay.diff"] = DIFF_FORMAT
    version: Literal[1] = DIFF_VERSION
    failures: tuple[RecurringFailure, ...] | None = None
    """By fingerprint, over both runs; None where two models are compared."""


class HistoryDocument(History):
    """What `replay diff --json` prints of more than two runs."""

    format: Literal["replay.history"] = HISTORY_FORMAT
    version: Literal[1] = HISTORY_VERSION


class ToolsDocument(ToolReport):
    """What `replay tools --format json` prints."""

    format: Literal["replay.tools"] = TOOLS_FORMAT
    version: Literal[1] = TOOLS_VERSION


class Shape(Record):
    """A trajectory's graph in numbers."""

    calls: int
    steps: int
    edges: int
    multi_hop: bool
    multi_threaded: bool
    depth: int
    width: int
    longest_chain: int


class ListedTrajectory(Shape):
    """One trajectory of a file."""

    id: str
    model: str


class ShownTrajectory(Record):
    """What `replay show FILE ID --json` prints."""

    format: Literal["replay.show"] = SHOW_FORMAT
    version: Literal[1] = SHOW_VERSION
    shape: Shape
    trajectory: TrajectoryFile
    outcomes: dict[str, Outcome] | None = None
    """By position, of the calls that are judged; only with `--run`."""


class ShownFile(Record):
    """What `replay show FILE --json` prints of a file with several trajectories."""

    format: Literal["replay.show"] = SHOW_FORMAT
    version: Literal[1] = SHOW_VERSION
    trajectories: tuple[ListedTrajectory, ...]


class JudgedTrajectory(Record):
    """One trajectory of a run."""

    id: str
    model: str
    outcomes: dict[Outcome, int]


class ShownRun(Record):
    """What `replay show --run RUN --json` prints of a run with several trajectories."""

    format: Literal["replay.show"] = SHOW_FORMAT
    version: Literal[1] = SHOW_VERSION
    trajectories: tuple[JudgedTrajectory, ...]
