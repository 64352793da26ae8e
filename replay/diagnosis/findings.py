"""The three questions: what is wrong with this call, with this trajectory, with this run?"""

from __future__ import annotations

from replay.diagnosis.case import Case
from replay.records.finding import Finding
from replay.runfile import Run


def findings_of_call(case: Case, position: str) -> tuple[Finding, ...]:
    """What is wrong with one call and what would have been right; the most telling first."""
    row = case.rows.get(position)
    if row is None:
        return ()
    return (Finding(kind="refused", scope="call", sentence=row.message, calls=case.refs(position), specific=False),)


def findings_of_trajectory(case: Case) -> tuple[Finding, ...]:
    """What the calls of a trajectory show together."""
    return ()


def findings_of_run(run: Run) -> tuple[Finding, ...]:
    """What the whole run shows."""
    return ()
