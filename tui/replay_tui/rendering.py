"""Lines of cells. Text comes in plain and goes out plain: nothing here reads markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from replay.diagnosis.phrasing import without_preamble
from replay.outcomes.rules import answer_rules
from replay.outcomes.second_look import SECOND_LOOK_RULES
from replay.records import Outcome
from replay.safety.text import one_line
from replay_tui.theme import SHOWN, Palette


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    min_width: int
    share: int = 0
    """Of the width that is left over; 0 keeps it as narrow as `min_width`."""
    right: bool = False
    key: str = ""
    style: Style | None = None
    """Of the title; dim by default."""


@dataclass(frozen=True)
class Cell:
    """What stands in one column of one row."""

    text: str
    style: Style | None = None
    segments: tuple[Segment, ...] = ()
    """Instead of the text, exactly as wide as the column."""


def plain(text: str) -> Content:
    """One safe line for where Textual would read a string as markup: titles of borders."""
    return Content(one_line(text))


def column_widths(columns: Sequence[Column], width: int) -> list[int]:
    """How wide each column is, with one space between them."""
    left = max(0, width - sum(column.min_width for column in columns) - max(0, len(columns) - 1))
    shares = sum(column.share for column in columns) or 1
    return [column.min_width + left * column.share // shares for column in columns]


def told_apart(name: str, names: Iterable[str], width: int) -> str:
    """A name for a column of that width: what does not fit is cut in front where another name begins alike."""
    begun = name[: width // 2]
    alike = len(name) > width > 1 and any(other != name and other.startswith(begun) for other in names)
    return f"…{name[1 - width :]}" if alike else name


def titled(choices: Sequence[Sequence[str]], room: int) -> Sequence[str]:
    """Titles of columns that stand to the right: the first choice that fits into the room, else the last."""
    return next((titles for titles in choices if sum(map(len, titles)) + len(titles) <= room), choices[-1])


def row_segments(cells: Iterable[Cell], columns: Sequence[Column], widths: Sequence[int]) -> list[Segment]:
    """A row: each cell cut or filled to its column's width."""
    segments: list[Segment] = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        segments += cell.segments or (Segment(fitted(cell.text, width, right=column.right), cell.style),)
        segments.append(Segment(" "))
    return segments[:-1]


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """One safe line of exactly that many cells; what is longer ends in an ellipsis."""
    line = one_line(text, max(0, width) + 1)
    size = cell_len(line)
    if size > width:
        return set_cell_size(line.rstrip("…"), max(0, width - 1)) + ("…" if width else "")
    return " " * (width - size) + line if right else line + " " * (width - size)


def bar(
    outcomes: dict[Outcome, int], width: int, styles: Palette, total: int = 0, *, colour: bool = True
) -> tuple[Segment, ...]:
    """A bar of the five outcomes that count; every outcome that is there gets a cell.

    A segment is a solid colour with its letter at the start; without colour it is letters all through.

    Args:
        outcomes: how many calls of each.
        width: in cells.
        styles: to draw with.
        total: what the whole width stands for, where bars are to be compared; else the bar is full.
        colour: whether the terminal shows any.
    """
    apart = not total  # a full bar shows shares, in which an inconclusive call does not count
    counted = [
        (outcome, outcomes.get(outcome, 0)) for outcome in SHOWN if not (apart and outcome is Outcome.INCONCLUSIVE)
    ]
    there = [(outcome, number) for outcome, number in counted if number]
    whole = sum(number for _, number in there)
    if not whole or width <= 0:
        return (Segment("─" * max(0, width), styles.faint),)
    length = max(1, min(width, round(width * whole / total))) if total else width
    sizes = _sizes([number for _, number in there], max(length, min(len(there), width)))
    segments = [
        Segment(outcome.letter.ljust(size) if colour else outcome.letter * size, styles.bars[outcome])
        for (outcome, _), size in zip(there, sizes, strict=True)
    ]
    return (*segments, Segment(" " * max(0, width - sum(sizes))))


def news_first(message: str, rule: str) -> str:
    """A verdict's sentence, what the answer says before what its rule says of it: a narrow column shows the news."""
    words = news(message, rule)
    return f"{words} · {_rule_sentences()[rule]}" if words and words != message else message


def news(message: str, rule: str) -> str:
    """A verdict's sentence without what its rule says of every call; empty where nothing is left."""
    sentence = _rule_sentences().get(rule)
    if sentence is None or not message.startswith(sentence):
        return message
    return without_preamble(message.removeprefix(sentence).removeprefix(".").removeprefix(": "))


@cache
def _rule_sentences() -> dict[str, str]:
    """What the rules for answers say, by their ids, without a full stop."""
    sentences = {rule.id: rule.sentence for rule in answer_rules()}
    sentences |= {rule: sentence for rule, (sentence, _) in SECOND_LOOK_RULES.items()}
    return {rule: sentence.rstrip(".") for rule, sentence in sentences.items()}


def strip_of(segments: Iterable[Segment], width: int, base: Style, over: Style | None = None) -> Strip:
    """Segments as a line of that width, on a background; `over` colours what has no colour of its own."""
    strip = Strip(list(segments)).adjust_cell_length(width)
    if over is not None:
        strip = Strip([Segment(text, over + (style or Style.null())) for text, style, _ in strip])
    return strip.apply_style(base)


def _sizes(numbers: list[int], width: int) -> list[int]:
    """Cells for each number, at least one, in sum `width` where that is enough."""
    whole = sum(numbers)
    sizes = [max(1, round(width * number / whole)) for number in numbers]
    while sum(sizes) > width and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    while sum(sizes) < width:
        sizes[sizes.index(max(sizes))] += 1
    return sizes
