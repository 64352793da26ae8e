"""Times as recordings write them, brought to seconds and to ISO 8601."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from replay.formats.fields import as_number, whole_number
from replay.records import JsonObject


def seconds_of(value: Any) -> float | None:
    """A time as seconds since 1970: ISO 8601, or a number of seconds, milliseconds, microseconds or nanoseconds."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            count = whole_number(value)
            return None if count is None else seconds_of(count)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    number = None if isinstance(value, bool) else as_number(value)
    if number is None:
        return None
    for limit, unit in ((1e11, 1), (1e14, 1e3), (1e17, 1e6)):
        if abs(number) < limit:
            return number / unit
    return number / 1e9


def seconds_between(start: Any, moment: Any) -> float | None:
    """From one ISO 8601 time to another; None where one of them is not a time, or the clock went back."""
    try:
        seconds = (datetime.fromisoformat(moment) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None


def seconds_after(start: float | None, moment: float | None) -> float | None:
    """From one time in seconds to another, 0 where the clock went back; None where one of them is not known."""
    return None if start is None or moment is None else max(0.0, moment - start)


def earliest(records: Iterable[JsonObject]) -> float | None:
    """The earliest `timestamp` of records; None where none has one."""
    times = (seconds_of(record.get("timestamp")) for record in records)
    return min((moment for moment in times if moment is not None), default=None)


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None
