"""A failure's fingerprint: the same for the same mistake in another run, another task or another model."""

from __future__ import annotations

import re
from typing import Final

from replay.diagnosis import TrajectoryContext
from replay.diagnosis.error_answers import normalized_error
from replay.diagnosis.run_findings import SECONDARY
from replay.records import FAILURES, Outcome, digest
from replay.records.failure import FINGERPRINT_LENGTH
from replay.records.files import CallRow
from replay.records.finding import Finding

_TOLD_BY_PLACE: Final = frozenset(
    {"missing-field", "misnamed-field", "unexpected-field", "wrong-type", "not-a-choice", "out-of-bounds"}
)
"""Findings that their place in the arguments tells apart; the error's words beside them differ by server version."""
_MAX_END: Final = 160
"""Characters of an error's beginning and of its end: between them stands what a program printed."""


def fingerprint(context: TrajectoryContext, row: CallRow, findings: tuple[Finding, ...]) -> str | None:
    """Twelve hexadecimal digits over tool, rule, finding, its place, and the error's words without volatile values.

    Args:
        context: of the call.
        row: its verdict.
        findings: of the call, as they were diagnosed.

    Returns:
        None where the call is not a failure.
    """
    if row.outcome not in FAILURES:
        return None
    finding = primary_finding(findings)
    kind = finding.kind if finding else ""
    place = re.sub(r"/\d+(?=/|$)", "/*", (finding.pointer or "") if finding else "")
    names = [str(finding.details[key]) for key in ("expected", "found") if key in finding.details] if finding else []
    by_place = kind in _TOLD_BY_PLACE
    parts = [
        re.sub(r"[^a-z0-9]+", " ", (row.tool or context.calls[row.call].name or "").lower()),
        row.rule,
        kind,
        place,
        names if kind in {"missing-field", "misnamed-field"} else [],
        "" if by_place else _words(context, row, finding),
    ]
    return digest(parts)[:FINGERPRINT_LENGTH]


def primary_finding(findings: tuple[Finding, ...]) -> Finding | None:
    """The most telling finding of a call; those that say something beside why it failed do not count."""
    return next((finding for finding in findings if finding.kind not in SECONDARY), None)


def _words(context: TrajectoryContext, row: CallRow, finding: Finding | None) -> str:
    """The words of the error; none where the call itself is the error: what it holds differs each time."""
    if row.outcome in (Outcome.ILLEGAL_FORMAT, Outcome.UNKNOWN_TOOL):
        return ""
    program = finding is not None and finding.kind == "program-failed"  # all that it printed stands in the answer
    text = finding.sentence if finding is not None and program else context.answer_text(row.call)
    words = normalized_error(text, context.calls[row.call])
    return words if len(words) <= 2 * _MAX_END else f"{words[:_MAX_END]} … {words[-_MAX_END:]}"
