"""JSON: the run document that `classify --json` prints, and the report with its findings.

The run document (`schemas/run.schema.json`) is written call by call, so that a large run takes no more memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from replay.diagnosis import Diagnosed
from replay.records import Record
from replay.records.failure import KnownFailure, RecurringFailure
from replay.records.files import REPORT_FORMAT, REPORT_VERSION, RUN_FORMAT, RUN_VERSION
from replay.records.finding import Finding
from replay.redaction import Redactor
from replay.reports import Selection
from replay.reports.report_scope import scope_of
from replay.runfile import Run, call_rows, summarize, trajectory_rows
from replay.text import json_text


def write_json(
    run: Run,
    out: TextIO,
    files: Sequence[int] | None = None,
    failures: Sequence[RecurringFailure] | None = None,
) -> None:
    """Write a whole run, or what it holds of some files, as one JSON document, a call a line.

    Args:
        run: open for reading or writing.
        out: where to.
        files: only of these, by the run's numbers; by default of all.
        failures: by their fingerprints, with what is known of them; left out where nothing is known of any.
    """
    out.write(f'{{"format": "{RUN_FORMAT}", "version": {RUN_VERSION}')
    _write_list(out, "servers", run.servers().values())
    _write_list(out, "trajectories", trajectory_rows(run, files))
    _write_list(out, "calls", call_rows(run, files=files))
    if failures is not None:
        _write_list(out, "failures", failures)
    summary = summarize(run, most=1000, files=files).model_dump(mode="json")
    out.write(f',\n"summary": {json_text(summary)}}}\n')


def _write_list(out: TextIO, name: str, records: Iterable[Record]) -> None:
    out.write(f',\n"{name}": [')
    for number, record in enumerate(records):
        out.write(("," if number else "") + "\n" + json_text(record.model_dump(mode="json")))
    out.write("]")


def render(run: Run, selection: Selection) -> str:
    """The report: `{"format": "replay.report", ...}`, the calls, and the findings of calls, trajectories and run."""
    scope = scope_of(run, selection)
    redactor = Redactor()
    trajectories: list[str] = []
    calls: list[str] = []
    diagnosed: list[Diagnosed] = []
    for diagnosis in scope.diagnoses():
        context = diagnosis.context
        diagnosed += scope.compact(diagnosis)
        trajectory = {
            "file": context.file,
            "model": context.trajectory.model,
            "trajectory": context.trajectory.id,
            "task_type": context.trajectory.task.type,
            "question": context.trajectory.task.question,
            "calls": len(context.calls),
            "steps": len(context.trajectory.steps),
            "findings": [] if scope.call else _plain(diagnosis.together),
        }
        trajectories.append(json.dumps(redactor.json(trajectory)))
        calls += [
            json.dumps(
                redactor.json(
                    row.model_dump(mode="json")
                    | {"explanations": _plain(diagnosis.calls.get(row.call, ()))}
                    | _mark(*scope.mark(diagnosis, row))
                )
            )
            for row in scope.rows(diagnosis)
        ]
    servers = [json.dumps(redactor.json(server.model_dump(mode="json"))) for server in run.servers().values()]
    findings = _plain(scope.findings(diagnosed)) if scope.whole or selection.model or selection.filter else []
    summary = summarize(run, most=1000).model_dump(mode="json") if scope.whole else None
    parts = [
        f'{{"format": "{REPORT_FORMAT}", "version": {REPORT_VERSION}',
        _list_of("servers", servers),
        _list_of("trajectories", trajectories),
        _list_of("calls", calls),
        _list_of("findings", [json.dumps(redactor.json(finding)) for finding in findings]),
        f'"summary": {json.dumps(redactor.json(summary))}}}\n',
    ]
    return ",\n".join(parts)


def _list_of(name: str, texts: Iterable[str]) -> str:
    """A list of which each element is a line, as text: as values the calls of a large run take ten times the memory."""
    return f'"{name}": [\n' + ",\n".join(texts) + "]"


def _mark(fingerprint: str | None, known: KnownFailure | None) -> dict[str, Any]:
    return {"fingerprint": fingerprint, "known": known.model_dump(mode="json") if known else None}


def _plain(findings: Iterable[Finding]) -> list[Any]:
    return [finding.model_dump(mode="json") for finding in findings]
