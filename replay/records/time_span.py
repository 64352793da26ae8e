"""Spans of time as people type them: `7d`, `2026-11`, `2026-11-20..2026-11-22`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self

_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|m|y)(?:\.\.)?", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
_DATE = r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?)?)?"
_DATES = re.compile(rf"({_DATE})|({_DATE})?\.\.({_DATE})?")


class Span(NamedTuple):
    """From one moment on, up to another; both in UTC as `2026-11-20T13:00:00`, or their beginning."""

    first: str
    last: str
    """What begins so is still in it."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what somebody typed.

        Raises:
            ValueError: it is not a span of time.
        """
        ago = _AGO.fullmatch(text.strip())
        if ago is not None:
            since = datetime.now(UTC) - timedelta(hours=int(ago[1]) * _HOURS[ago[2].lower()])
            return cls(f"{since:%Y-%m-%dT%H:%M:%S}", "")
        dates = _DATES.fullmatch(text.strip().upper())
        if dates is None or not any(dates.groups()):
            raise ValueError(f"{text!r} is not a time; write 7d, 12h, 2026-11-20 or 2026-11-01..2026-11-20")
        return cls(dates[1] or dates[2] or "", dates[1] or dates[3] or "")

    def condition(self, column: str) -> str:
        """The same in SQL; both ends are digits and marks only."""
        return f"({column} >= '{self.first}' AND substr({column}, 1, {len(self.last)}) <= '{self.last}')"


def utc(moment: str | float | None, later: float = 0) -> str | None:
    """A time in UTC, to the second, so that times sort as text; None for what is not a time.

    Args:
        moment: as ISO 8601, or in seconds since 1970.
        later: seconds to add.
    """
    try:
        time = (
            datetime.fromtimestamp(moment, UTC) if isinstance(moment, float) else datetime.fromisoformat(moment or "")
        )
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC) + timedelta(seconds=later)
    except (ValueError, OverflowError):
        return None
    return f"{time:%Y-%m-%dT%H:%M:%S}"
