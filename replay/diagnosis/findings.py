"""What is wrong with one call: every angle, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis.call_syntax import form_findings
from replay.diagnosis.environment import environment_findings
from replay.diagnosis.failures import failure_findings
from replay.diagnosis.flags import mark_findings
from replay.diagnosis.names import name_findings
from replay.diagnosis.provenance import provenance_findings
from replay.diagnosis.repair import repair_finding
from replay.diagnosis.schema import schema_findings
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records.finding import Finding


def findings_of_call(case: TrajectoryContext, position: str) -> tuple[Finding, ...]:
    """What is wrong with one call and what would have been right; the most telling first.

    Empty where there is nothing to say, or the call has no verdict.
    """
    return tuple(_findings(case, position)) if position in case.rows else ()


def _findings(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    yield from form_findings(case, position)
    yield from name_findings(case, position)
    of_schema = list(schema_findings(case, position))
    yield from of_schema
    if not of_schema:
        yield from failure_findings(case, position)
    yield from provenance_findings(case, position)
    yield from environment_findings(case, position)
    repair = repair_finding(case, position)
    if repair is not None:
        yield repair
    yield from mark_findings(case, position)
