"""What of a large run one page shows: a browser must hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from replay.records import FAILURES
from replay.reports.report_scope import ReportScope
from replay.runfile.conditions import placeholders

MAX_CALLS: Final = 10_000
"""Calls on one page: some 20 MB."""


def shown_share(scope: ReportScope, most: int | None = None) -> tuple[ReportScope, str]:
    """The scope with no more calls than a page holds, and a sentence on what is left out; "" where all is shown.

    Whole trajectories are left out. Those with failed calls come first, and all stand in the order of the run.

    Args:
        scope: of the report.
        most: calls, by default `MAX_CALLS`; the first trajectory is shown whatever it holds.
    """
    counts = _counts(scope)
    places = [place for place in scope.places if place.row in counts]
    total = sum(calls for calls, _ in counts.values())
    room = MAX_CALLS if most is None else most
    if total <= room or len(places) < 2:
        return scope, ""
    chosen: set[int] = set()
    for place in sorted(places, key=lambda place: counts[place.row][1] == 0):
        calls = counts[place.row][0]
        if calls <= room or not chosen:
            chosen.add(place.row)
            room -= calls
    shown = replace(scope, places=[place for place in scope.places if place.row in chosen], left_out=True)
    says = (
        f"This page shows {sum(counts[row][0] for row in chosen):,} of {total:,} calls, in {len(chosen):,} of "
        f"{len(places):,} trajectories: those with failed calls first. Tables and bars of models count all; "
        "findings are of what is shown. For the others: replay report --model, --trajectory "
        "or --filter, or replay browse."
    )
    return shown, says


def _counts(scope: ReportScope) -> Mapping[int, tuple[int, int]]:
    """Calls that the report is about, and how many of them failed, by the rows of their trajectories."""
    rows = scope.run.connection.execute(
        f"SELECT trajectory, count(*), sum(outcome IN ({placeholders(tuple(FAILURES))})) FROM calls GROUP BY 1",  # noqa: S608
        tuple(FAILURES),
    )
    counts = {row: (calls, failed) for row, calls, failed in rows}
    if scope.matching is None:
        wanted = {place.row for place in scope.places}
        return {row: found for row, found in counts.items() if row in wanted}
    return {row: (len(positions), counts.get(row, (0, 0))[1]) for row, positions in scope.matching.items()}
