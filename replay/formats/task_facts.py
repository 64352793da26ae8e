"""What a record says of its task beside the calls: whether it passed, its score, and labels such as its difficulty."""

from __future__ import annotations

import math
from typing import Any, Final

from replay.formats.exported_details import reported_in
from replay.formats.record_builders import as_object
from replay.records import JsonObject
from replay.records.trajectory import ReportedResult

_PASSED: Final = ("pass", "passed", "success", "resolved")
_SCORE: Final = ("reward", "score")
_WHY: Final = ("failure", "failure_reason")
LABELS: Final = ("difficulty", "family", "category", "domain", "level")
"""Fields of a record that sort tasks, beside `type`."""


def reported_of(record: JsonObject) -> ReportedResult | None:
    """The verdict that a results file itself gives on a task; None where it gives none.

    Args:
        record: the object that holds the trajectory.
    """
    if (own := reported_in(as_object(record.get("replay")))) is not None:
        return own
    passed = next((record[name] for name in _PASSED if isinstance(record.get(name), bool)), None)
    score = next((number for name in _SCORE if (number := _number(record.get(name))) is not None), None)
    if passed is None and score is None:
        return None
    details = {name: record[name] for name in _WHY if isinstance(record.get(name), str)}
    return ReportedResult(passed=passed, score=score, details=details or None)


def labels_of(record: JsonObject) -> dict[str, str] | None:
    """The labels of a task; None where it has none."""
    found = {name: _label(record[name]) for name in LABELS if name in record}
    return {name: text for name, text in found.items() if text} or None


def _number(value: Any) -> float | None:
    given = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if given else None


def _label(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
