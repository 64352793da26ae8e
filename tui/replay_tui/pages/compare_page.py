"""The calls of a task on two sides, place by place."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment

from replay.runfile.compare_queries import CallPair
from replay_tui.pages.writer import Row, Writer
from replay_tui.rendering import fitted
from replay_tui.theme import LETTERS, Palette


def calls_page(names: tuple[str, str], pairs: Sequence[CallPair], width: int, styles: Palette) -> list[Row]:
    """The page."""
    writer = Writer(width, styles)
    half = (writer.width - 5) // 2
    titles = [Segment(fitted(name, half), styles.dim) for name in names]
    writer.rows.append([titles[0], Segment("     "), titles[1]])
    for pair in pairs:
        row: Row = []
        mark = " ≠ " if pair.changed else " = " if pair.calls[0] == pair.calls[1] else "   "
        for number, call in enumerate(pair.calls):
            if number:
                row.append(Segment(f" {mark} ", styles.accent if pair.changed else styles.faint))
            if call is None:
                row.append(Segment(fitted("–", half), styles.faint))
                continue
            position, tool, outcome = call
            row.append(Segment(LETTERS[outcome], styles.outcome(outcome)))
            row.append(
                Segment(
                    " " + fitted(f"{position:<7} {tool or '(no name)'}", half - 2), None if pair.changed else styles.dim
                )
            )
        writer.rows.append(row)
    return writer.rows
