"""A comparison as text for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from replay.diagnosis.phrasing import counted
from replay.records import Outcome
from replay.records.comparison import Change, RunDiff
from replay.safety.text import one_line

_MAX_LISTED: Final = 25


def difference_text(comparison: RunDiff) -> str:
    """What is different: worse first, then better, then what only one side has."""
    first, second = comparison.first, comparison.second
    common = counted(comparison.common, "call")
    lines = [
        f"before: {one_line(first.name, 100)}, {counted(first.calls, 'call')}",
        f"after:  {one_line(second.name, 100)}, {counted(second.calls, 'call')}",
        f"{common} in common: {len(comparison.worse)} worse, {len(comparison.better)} better",
        f"{counted(len(comparison.new), 'call')} new, {len(comparison.gone)} gone",
        comparison.test_summary,
        *_section("Worse", comparison.worse),
        *_section("New failures", comparison.new_failures),
        *_section("Better", comparison.better),
        *_section("Judged on one side only", comparison.unjudged),
        *_tools(comparison),
        *_metrics(comparison),
    ]
    return "\n".join(lines)


def _section(title: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    yield f"\n{title} ({len(changes)})"
    for change in changes[:_MAX_LISTED]:
        moved = f"{_label(change.before)} -> {_label(change.after)}"
        where = f"{change.model}:{change.trajectory}:{change.call}"
        yield f"  {one_line(where, 90)}  {one_line(change.tool or '?', 60)}  {moved}  {one_line(change.message, 100)}"
    if len(changes) > _MAX_LISTED:
        yield f"  ... and {len(changes) - _MAX_LISTED} more; --json has them all"


def _tools(comparison: RunDiff) -> Iterator[str]:
    if comparison.tools:
        yield "\nFailures by tool"
    for tool in comparison.tools[:_MAX_LISTED]:
        yield (
            f"  {one_line(tool.tool, 60)}: {tool.before} of {tool.calls_before} before, "
            f"{tool.after} of {tool.calls_after} after"
        )


def _metrics(comparison: RunDiff) -> Iterator[str]:
    if comparison.metrics:
        yield "\nAlignment"
    for metric in comparison.metrics:
        name = metric.metric.replace("_", " ")
        moved = f"{metric.before:.3f} -> {metric.after:.3f} ({metric.after - metric.before:+.3f})"
        yield f"  {one_line(metric.model, 40)}  {name}: {moved}"


def _label(outcome: Outcome | None) -> str:
    return str(outcome).replace("_", " ") if outcome else "none"
