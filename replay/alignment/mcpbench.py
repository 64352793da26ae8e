"""MCP-Bench's three rates, from the outcomes of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from replay.records import Outcome
from replay.records.alignment import McpBenchRates


def mcpbench(outcomes: Iterable[Outcome]) -> McpBenchRates:
    """The rates over calls.

    - valid tool names: calls of tools that exist, of all calls that are not inconclusive;
    - schema compliance: calls whose arguments were accepted, of those of tools that exist;
    - execution success: calls that succeeded, of all calls that are not inconclusive.
    """
    counts = Counter(outcomes)
    inconclusive = counts.pop(Outcome.INCONCLUSIVE, 0)
    total = sum(counts.values())
    known = total - counts[Outcome.ILLEGAL_FORMAT] - counts[Outcome.UNKNOWN_TOOL]
    return McpBenchRates(
        valid_tool_names=_rate(known, total),
        schema_compliance=_rate(known - counts[Outcome.INVALID_ARGUMENTS], known),
        execution_success=_rate(counts[Outcome.SUCCESS], total),
        calls=total + inconclusive,
        inconclusive=inconclusive,
    )


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None
