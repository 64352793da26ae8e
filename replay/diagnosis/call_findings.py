"""What is wrong with one call: every angle, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator

from replay.diagnosis.call_syntax import syntax_findings
from replay.diagnosis.environment import environment_findings
from replay.diagnosis.failures import failure_findings
from replay.diagnosis.flags import flag_findings
from replay.diagnosis.provenance import provenance_findings
from replay.diagnosis.reference_findings import wrong_tools
from replay.diagnosis.repair import dependent_findings, repair_finding
from replay.diagnosis.schema_violations import schema_findings
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.diagnosis.unknown_tool import unknown_tool_findings
from replay.records.finding import Finding


def findings_of_call(context: TrajectoryContext, position: str) -> tuple[Finding, ...]:
    """What is wrong with one call and what would have been right; the most telling first.

    Empty where there is nothing to say, or the call has no verdict.
    """
    return tuple(_findings(context, position)) if position in context.rows else ()


def _findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    yield from syntax_findings(context, position)
    yield from unknown_tool_findings(context, position)
    of_schema = list(schema_findings(context, position))
    yield from of_schema
    if not of_schema:
        yield from failure_findings(context, position)
    yield from provenance_findings(context, position)
    yield from environment_findings(context, position)
    repair = repair_finding(context, position)
    if repair is not None:
        yield repair
    else:
        yield from dependent_findings(context, position)
    yield from flag_findings(context, position)
    yield from wrong_tools(context, position)
