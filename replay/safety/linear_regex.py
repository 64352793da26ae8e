"""Regular expressions that others wrote, on texts that others wrote: matched in linear time, by RE2.

Python's own engine backtracks: `^(a+)+$` on thirty characters takes minutes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import re2

_MAX_MEMORY: Final = 8 << 20


class PatternError(ValueError):
    """A pattern that the engine does not take; the text says why."""


class LinearPattern:
    """A compiled pattern."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def search(self, text: str) -> str | None:
        """The first match in a text without lone surrogates; None where there is none."""
        found = self._compiled.search(text)
        return None if found is None else str(found.group())


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> LinearPattern:
    """Compile a pattern.

    Raises:
        PatternError: it is not a regular expression, or needs what cannot be matched in linear time (look-around,
            back-references, more than 1000 repetitions).
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return LinearPattern(re2.compile(pattern, options))
    except (re2.error, UnicodeError) as problem:
        raise PatternError(_in_words(problem)) from None


def _in_words(problem: Exception) -> str:
    reason = problem.args[0] if problem.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
