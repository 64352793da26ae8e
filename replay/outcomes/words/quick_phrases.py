"""The phrases that are looked for in nearly every answer, and found in few."""

from __future__ import annotations

from typing import Final

from replay.outcomes.words import error_phrases, patterns
from replay.outcomes.words.quick_search import QuickSearch

ANY_ERROR: Final = QuickSearch(error_phrases.ANY_ERROR)
ERROR_CAUSE: Final = QuickSearch(error_phrases.ERROR_CAUSE)
ERROR_CLAUSE: Final = QuickSearch(patterns.ERROR_CLAUSE)
MISSING_CLAUSE: Final = QuickSearch(patterns.MISSING_CLAUSE)
NEEDS_A_CLIENT: Final = QuickSearch(error_phrases.NEEDS_A_CLIENT)
TOOL_UNKNOWN: Final = QuickSearch(patterns.TOOL_UNKNOWN)
