"""The JSON that `replay report`, `replay diff`, `replay tools` and `replay show` print."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TextIO

from pydantic import RootModel

from replay.analysis.spending import spending_of
from replay.diagnosis import Diagnosis, RunTally
from replay.records import Outcome, Record
from replay.records.base import JsonObject
from replay.records.comparison import RunDiff
from replay.records.files import (
    REPORT_FORMAT,
    REPORT_VERSION,
    RUN_FORMAT,
    RUN_VERSION,
    CallRow,
    TrajectoryFile,
    TrajectoryRow,
)
from replay.records.finding import HISTORY_FORMAT, HISTORY_VERSION, Finding, History, KnownFailure, RecurringFailure
from replay.records.server import Server
from replay.records.summary import UnreadFile
from replay.records.tool_usage import ToolReport
from replay.reports import Selection, Spool
from replay.reports.scope import ReportScope, scope_of
from replay.runfile import Run, call_rows, summarize, trajectory_rows
from replay.safety.redaction import Redactor
from replay.safety.text import printable_json

SERVERS_FORMAT: Final = "replay.servers"
SERVERS_VERSION: Final = 1
SHOW_FORMAT: Final = "replay.show"
SHOW_VERSION: Final = 1


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

    format: Literal["replay.diff"] = "replay.diff"
    version: Literal[1] = 1
    failures: tuple[RecurringFailure, ...] | None = None
    """By fingerprint, over both runs; None where two models are compared."""


class HistoryDocument(History):
    """What `replay diff --json` prints of more than two runs."""

    format: Literal["replay.history"] = HISTORY_FORMAT
    version: Literal[1] = HISTORY_VERSION


class ToolsDocument(ToolReport):
    """What `replay tools --format json` prints."""

    format: Literal["replay.tools"] = "replay.tools"
    version: Literal[1] = 1


class FailureList(RootModel[tuple[RecurringFailure, ...]]):
    """What `replay known list --json` prints."""


class CheckedServer(Server):
    """A server with the names of its tools alone."""

    tools: tuple[str, ...]  # type: ignore[assignment]


class CheckedServers(Record):
    """What `replay servers check --json` prints."""

    format: Literal["replay.servers"] = SERVERS_FORMAT
    version: Literal[1] = SERVERS_VERSION
    servers: tuple[CheckedServer, ...]


class ListedServers(Record):
    """What `replay servers tools --json` prints."""

    format: Literal["replay.servers"] = SERVERS_FORMAT
    version: Literal[1] = SERVERS_VERSION
    servers: tuple[Server, ...]


class LabelledTemplate(Record):
    """Answers of one tool that read alike."""

    id: str
    """By which it is labelled."""
    kind: str
    """`rests-on-nothing`, or what speaks against its verdict."""
    tool: str
    answers: int
    rule: str
    template: str
    example: str


class SurveyDocument(Record):
    """What `replay label --json` prints."""

    format: Literal["replay.survey"] = "replay.survey"
    version: Literal[1] = 1
    files: int
    unreadable: int
    answers: int
    counts: dict[str, int]
    certainty: dict[str, int]
    templates: tuple[LabelledTemplate, ...]


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
    started_at: str | None = None
    """In UTC; this and what follows are null where the recording does not say."""
    seconds: float | None = None
    """Up to the end of its last call."""
    tokens: int | None = None
    """Read and written."""
    recovered: int = 0
    """Failed calls in spite of which the task went on."""


class ShownRun(Record):
    """What `replay show --run RUN --json` prints of a run with several trajectories."""

    format: Literal["replay.show"] = SHOW_FORMAT
    version: Literal[1] = SHOW_VERSION
    trajectories: tuple[JudgedTrajectory, ...]


def write_run_json(
    run: Run,
    out: TextIO,
    files: Sequence[int] | None = None,
    failures: Sequence[RecurringFailure] | None = None,
    unread: Sequence[UnreadFile] | None = None,
) -> None:
    """Write a whole run, or what it holds of some files, as one JSON document, a call a line.

    Args:
        run: open for reading or writing.
        out: where to.
        files: only of these, by the run's numbers; by default of all.
        failures: by their fingerprints, with what is known of them; left out where nothing is known of any.
        unread: files that could not be read; by default all that the run knows of.
    """
    out.write(f'{{"format": "{RUN_FORMAT}", "version": {RUN_VERSION}')
    out.writelines(_list("servers", map(_as_text, run.servers().values())))
    out.writelines(_list("trajectories", map(_as_text, trajectory_rows(run, files))))
    out.writelines(_list("calls", map(_as_text, call_rows(run, files=files))))
    if failures is not None:
        out.writelines(_list("failures", map(_as_text, failures)))
    if spending := spending_of(run, files):
        out.writelines(_list("spending", map(_as_text, spending)))
    out.write(f',\n"summary": {_as_text(summarize(run, most=1000, files=files, unread=unread))}}}\n')


def render(run: Run, selection: Selection) -> Iterator[str]:
    """The report: `{"format": "replay.report", ...}`, the calls, and the findings of calls, trajectories and run.

    The calls of all trajectories stand behind the last trajectory, so they wait in a file until then.
    """
    scope = scope_of(run, selection)
    redactor, tally = Redactor(), RunTally()

    def cleaned(value: Any) -> str:
        return json.dumps(redactor.json(value))

    yield f'{{"format": "{REPORT_FORMAT}", "version": {REPORT_VERSION}'
    yield from _list("servers", (cleaned(server.model_dump(mode="json")) for server in run.servers().values()))
    with Spool() as calls:

        def trajectories() -> Iterator[str]:
            for diagnosis in scope.diagnoses():
                scope.count(diagnosis, tally)
                for row in scope.rows(diagnosis):
                    calls.add(cleaned(_call(scope, diagnosis, row)))
                yield cleaned(_trajectory(scope, diagnosis))

        yield from _list("trajectories", trajectories())
        yield from _list("calls", calls)
    findings = _plain(scope.findings(tally)) if scope.whole or selection.model or selection.filter else []
    yield from _list("findings", map(cleaned, findings))
    summary = summarize(run, most=1000).model_dump(mode="json") if scope.whole else None
    yield f',\n"summary": {cleaned(summary)}}}\n'


def _list(name: str, texts: Iterable[str]) -> Iterator[str]:
    """A list of which each element is a line."""
    yield f',\n"{name}": ['
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}\n{text}"
    yield "]"


def _as_text(record: Record) -> str:
    return printable_json(record.model_dump(mode="json"))


def _trajectory(scope: ReportScope, diagnosis: Diagnosis) -> dict[str, Any]:
    context = diagnosis.context
    return {
        "file": context.file,
        "model": context.trajectory.model,
        "trajectory": context.trajectory.id,
        "task_type": context.trajectory.task.type,
        "question": context.trajectory.task.question,
        "calls": len(context.calls),
        "steps": len(context.trajectory.steps),
        "findings": [] if scope.call else _plain(diagnosis.together),
    }


def _call(scope: ReportScope, diagnosis: Diagnosis, row: CallRow) -> dict[str, Any]:
    fingerprint, known = scope.mark(diagnosis, row)
    return {
        **row.model_dump(mode="json"),
        "explanations": _plain(diagnosis.calls.get(row.call, ())),
        "fingerprint": fingerprint,
        "known": known.model_dump(mode="json") if known else None,
    }


def _plain(findings: Iterable[Finding]) -> list[Any]:
    return [finding.model_dump(mode="json") for finding in findings]
