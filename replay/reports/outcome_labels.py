"""The outcomes in words."""

from __future__ import annotations

from typing import Final

from replay.records import Outcome

OUTCOME_LABELS: Final = {
    Outcome.ILLEGAL_FORMAT: "illegal format",
    Outcome.UNKNOWN_TOOL: "unknown tool",
    Outcome.INVALID_ARGUMENTS: "invalid arguments",
    Outcome.NOT_FOUND: "not found",
    Outcome.SUCCESS: "success",
    Outcome.INCONCLUSIVE: "inconclusive",
}
