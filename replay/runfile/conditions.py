"""Pieces of SQL that several queries share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from replay.records import FAILURES, Fault, Reason

_FAILURE_NAMES: Final = ", ".join(f"'{outcome}'" for outcome in FAILURES)


def placeholders(values: Collection[object]) -> str:
    """As many question marks as there are values."""
    return ", ".join("?" * len(values))


def is_failure(column: str) -> str:
    """The condition that an outcome is a failure of the model."""
    return f"{column} IN ({_FAILURE_NAMES})"


def fault_in_sql() -> str:
    """The expression that gives the fault of a call by its outcome and reason, as `fault_of` does; '' of a success."""
    by_reason = " ".join(f"WHEN '{reason}' THEN '{reason.fault}'" for reason in Reason)
    others = f"CASE reason {by_reason} ELSE '{Fault.UNKNOWN}' END"
    return f"CASE WHEN {is_failure('outcome')} THEN '{Fault.MODEL}' WHEN outcome = 'success' THEN '' ELSE {others} END"


def in_files(column: str, files: Collection[int] | None) -> str:
    """The condition that a column holds one of these files, by the run's numbers; any where None."""
    if files is None:
        return "1"
    numbers = sorted({int(number) for number in files})
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:  # without a gap, as a run's files mostly are
        return f"{column} BETWEEN {numbers[0]} AND {numbers[-1]}"
    return f"{column} IN ({', '.join(map(str, numbers))})"
