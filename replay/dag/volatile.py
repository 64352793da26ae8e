"""Values that differ from run to run and mean nothing: times, durations, random ids, temporary paths."""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["is_noise", "masked", "same_but_volatile"]

_TOLERANCE: Final = 1e-9
_MAX_VALUE_LENGTH: Final = 200
"""No volatile value is longer."""
_MAX_DIFFERENCE_LENGTH: Final = 300_000
"""Characters between the first and the last difference beyond which two texts are simply different."""
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_WEEKDAY: Final = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?[ ]+)?"
_CLOCK: Final = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"

_VOLATILE: Final = re.compile(
    rf"""
      (?P<uuid>\b[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}\b)
    | (?P<when>\b\d{{4}}[-/]\d\d[-/]\d\d(?:[T ]{_CLOCK}(?:[ ]?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?
        | \b{_WEEKDAY}{_MONTH}[ ]+\d{{1,2}}(?:,?[ ]+\d{{4}}\b|[ ]+{_CLOCK}(?:[ ]+(?:[A-Z]{{3,4}}[ ]+)?\d{{4}})?|(?!\w))
        | \b{_WEEKDAY}\d{{1,2}}[ ]+{_MONTH}[ ]+\d{{4}}(?:[ ]+{_CLOCK}(?:[ ]+GMT)?)?
        | \b\d{{1,2}}:\d\d:\d\d(?:[.,]\d+)?\b | \b[012]?\d:[0-5]\d\b)
    | (?P<temp>(?:/private)?(?:/var)?/tmp/[\w.+-]+|/var/folders/\w+/\w+/T/[\w.+-]+|\btmp[a-z0-9_]{{6,}}\b)
    | (?P<address>\b0x[0-9a-fA-F]{{6,}}\b)
    | (?P<took>\b\d+(?:\.\d+)?[ ]?(?:ns|µs|us|ms|s|secs?|seconds?|minutes?)\b)
    | (?P<process>\b(?:pid|PID|process|port|Port)(?:[ ]id)?[ =:#]+\d+)
    | (?P<host>(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0):\d{{2,5}})
    | (?P<stamp>['"]?\b(?:mtime|ctime|atime|modified|created|accessed|timestamp|updated)\w*['"]?\s*[:=]\s*\d+(?:\.\d+)?)
    | (?P<epoch>\b1[5-9]\d{{8}}(?:\d{{3}}|\.\d+)?\b)
    | (?P<random>\b(?=\w{{0,64}}\b)(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{{8,64}}\b
        | \b(?=[A-Za-z0-9]{{8,64}}\b)(?:[A-Za-z]+\d+[A-Za-z]+\d|\d+[A-Za-z]+\d+[A-Za-z])[A-Za-z0-9]*\b
        | \b(?=[A-Za-z0-9]{{16,64}}\b)(?=[A-Z]*[a-z0-9])(?=[a-zA-Z]*\d)(?=[A-Z0-9]*[a-z])
            (?=[a-z0-9]*[A-Z])[A-Za-z0-9]+\b)
    | (?P<float>\b\d+\.\d{{9,}}\b)
    """,
    re.VERBOSE,
)
_VOLATILE_NAMES: Final = re.compile(
    r"(^|_|[a-z])(time|timestamp|at|date|modified|created|updated|accessed|mtime|ctime|atime|duration|elapsed|took|ms"
    r"|seconds|latency|uptime|pid|port|expires|Time|Timestamp|At|Date|Modified|Created|Duration|Elapsed|Ms|Seconds)$"
)


def masked(text: str) -> str:
    """A text with each volatile value replaced by its kind."""
    return _VOLATILE.sub(_mask, text)


def same_but_volatile(recorded: str, replayed: str) -> bool:
    """Whether two texts are the same when their volatile values are masked.

    Only the part between the first and the last difference is looked at, with what a value there could reach into.
    """
    start = max(_common_prefix_length(recorded, replayed) - _MAX_VALUE_LENGTH, 0)
    start = max(recorded.rfind(" ", 0, start) + 1, start - _MAX_VALUE_LENGTH) if start else 0
    tail = max(_common_prefix_length(recorded[start:][::-1], replayed[start:][::-1]) - _MAX_VALUE_LENGTH, 0)
    old, new = recorded[start : len(recorded) - tail], replayed[start : len(replayed) - tail]
    return max(len(old), len(new)) <= _MAX_DIFFERENCE_LENGTH and masked(old) == masked(new)


def _common_prefix_length(first: str, second: str) -> int:
    """Length of the common beginning, by halving: slices compare at the speed of memory."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def is_noise(name: str, recorded: Any, replayed: Any) -> bool:
    """Whether two numbers differ by the noise of floating point, or stand under a name like `elapsed_ms` or `pid`."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (recorded, replayed)):
        return False
    if _VOLATILE_NAMES.search(name):
        return True
    return bool(abs(recorded - replayed) <= _TOLERANCE * max(abs(recorded), abs(replayed), 1.0))


def _mask(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return f"{float(match[0]):.9g}" if kind == "float" else f"<{kind}>"
