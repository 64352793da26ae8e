"""The counts of each model, as wide as the terminal lets them be: the shares go first, then the model's name is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from rich.cells import cell_len

from replay.records import Outcome, Reason
from replay.records.summary import RunSummary, well_formed
from replay.safety.text import one_line

FEW_JUDGED: Final = 0.3
"""Share of judged calls under which the shares of a model say little."""
MAX_LISTED: Final = 100
"""Models that have a line of their own."""
_MAX_EXPLAINED: Final = 5
_JUDGED: Final = tuple(outcome for outcome in Outcome if outcome is not Outcome.INCONCLUSIVE)
_SHORT: Final = {Outcome.INVALID_ARGUMENTS: ("invalid", "args")}
_MIN_NAME, _MAX_NAME = 8, 40
_GAP: Final = "  "


class _Row(NamedTuple):
    name: str
    calls: int
    outcomes: dict[Outcome, int]
    reasons: dict[Reason, int]

    @property
    def judged(self) -> int:
        return self.calls - self.outcomes[Outcome.INCONCLUSIVE]

    @property
    def few(self) -> bool:
        return self.judged < FEW_JUDGED * self.calls


def model_lines(summary: RunSummary, width: int, dim: Callable[[str], str]) -> Iterator[str]:
    """A line a model, and one for all; then why shares are dimmed, where they are.

    Args:
        summary: of the run.
        width: columns of the terminal.
        dim: makes a text less bright.
    """
    listed = summary.models[:MAX_LISTED]
    rows = [_Row(one_line(model.model), model.calls, model.outcomes, model.reasons) for model in listed]
    if len(rows) > 1:
        rows.append(_Row("all", sum(summary.outcomes.values()), summary.outcomes, summary.reasons))
    for number, line in enumerate(_fitting(rows, width)):
        yield dim(line) if number >= 2 and rows[number - 2].few else line
    if summary.model_count > len(listed):
        yield f"(the first {len(listed)} of {summary.model_count:,} models; replay compare has all)"
    few = [row for row in rows if row.few and (row.name != "all" or len(rows) == 1)]
    for row in few[:_MAX_EXPLAINED]:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in list(row.reasons.items())[:3])
        words = f"{_cut(row.name, _MAX_NAME)}: few calls were judged, so its shares say little ({reasons})"
        yield from wrap(words, width, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
    if len(few) > _MAX_EXPLAINED:
        yield f"few calls were judged of {len(few) - _MAX_EXPLAINED} more models as well"


def _fitting(rows: Sequence[_Row], width: int) -> list[str]:
    """The richest layout that fits; of the poorest, the name is cut."""
    layouts: tuple[tuple[Callable[[int, int], str], bool], ...] = ((_tenths, True), (_whole, False), (_count, False))
    for cell, inconclusive in layouts:
        table = _table(rows, cell, inconclusive=inconclusive)
        rest = max(sum(cell_len(part) + len(_GAP) for part in line[1:]) for line in _padded(table))
        longest = min(max(cell_len(row.name) for row in rows), _MAX_NAME)
        if longest + rest <= width or cell is _count:
            name = min(longest, max(_MIN_NAME, width - rest)) if cell is _count else longest
            named = [[_cut(line[0], max(name, 5)), *line[1:]] for line in table]
            return [_GAP.join(line).rstrip() for line in _padded(named)]
    return []


def _table(rows: Sequence[_Row], cell: Callable[[int, int], str], *, inconclusive: bool) -> list[list[str]]:
    outcomes = list(Outcome) if inconclusive else list(_JUDGED)
    heads = [_head(outcome, short=not inconclusive) for outcome in outcomes]
    if inconclusive:
        heads.insert(-1, ("well", "formed"))
    lines = [["", "", *(head[0] for head in heads)], ["model", "judged", *(head[1] for head in heads)]]
    for row in rows:
        cells = [cell(row.outcomes[outcome], row.judged) for outcome in _JUDGED]
        if inconclusive:
            cells.append(cell(well_formed(row.outcomes), row.judged))
            cells.append(f"{row.outcomes[Outcome.INCONCLUSIVE]:,}")
        lines.append([row.name, _of_calls(row), *cells])
    return lines


def _of_calls(row: _Row) -> str:
    share = f" ({100 * row.judged / row.calls:.0f} %)" if row.calls else ""
    return f"{row.judged:,} of {row.calls:,}{share}"


def _head(outcome: Outcome, *, short: bool) -> tuple[str, str]:
    if short and outcome in _SHORT:
        return _SHORT[outcome]
    first, _, last = outcome.label.rpartition(" ")
    return first, last


def _tenths(count: int, judged: int) -> str:
    return f"{count:,} {count / judged:6.1%}" if judged else f"{count:,}      -"


def _whole(count: int, judged: int) -> str:
    if not judged:
        return f"{count:,}   -"
    share = "<1%" if 0 < count < 0.005 * judged else f"{100 * count / judged:.0f}%"
    return f"{count:,} {share:>4}"


def _count(count: int, judged: int) -> str:
    return f"{count:,}" if judged else "-"


def _padded(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Each column as wide as its widest cell: the first to the left, the others to the right."""
    widths = [max(cell_len(line[column]) for line in table) for column in range(len(table[0]))]
    return [
        [
            cell + " " * (width - cell_len(cell)) if column == 0 else " " * (width - cell_len(cell)) + cell
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in table
    ]


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[:-1]
    return f"{text}…"
