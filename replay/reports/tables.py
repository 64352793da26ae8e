"""Tables, described once by their columns and plain cells; text, Markdown and HTML come from that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Self

from markupsafe import Markup
from rich.cells import cell_len

from replay.reports import markdown_syntax
from replay.safety.text import one_line, printable

_GAP: Final = "  "


class Column(NamedTuple):
    """What stands in a column."""

    head: str
    kind: Literal["words", "name", "number", "markdown"] = "words"
    """A `name` of somebody else's stands as code in Markdown; a `number` is ours, and stands to the right."""
    limit: int | None = None
    """Characters of a cell in Markdown."""
    right: bool = False

    @property
    def is_right(self) -> bool:
        """Whether its cells stand to the right."""
        return self.right or self.kind == "number"


class Linked(str):
    """A cell that leads to another part of its page of HTML."""

    target: str
    """The id of that part."""

    def __new__(cls, cell: object, target: str) -> Self:
        """Make the cell."""
        made = super().__new__(cls, cell)
        made.target = target
        return made


class HtmlTable(NamedTuple):
    """Cells for a template."""

    head: list[str]
    rows: list[list[str]]
    has_numbers: bool
    """A table of words alone stands to the left, and its lines may be broken."""


@dataclass(frozen=True)
class Table:
    """Columns, and a plain text for each cell; None where a row has nothing there."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]

    @classmethod
    def of(cls, head: Sequence[str], rows: Sequence[Sequence[object]], *, left: bool = False) -> Self:
        """A table of words: the first column to the left, the others to the right, unless all stand to the left."""
        return cls([Column(name, right=number > 0 and not left) for number, name in enumerate(head)], rows)

    def markdown(self) -> str:
        """The table in GitHub's Markdown."""
        lines = [
            [markdown_syntax.prose(column.head) for column in self.columns],
            ["---:" if column.is_right else "---" for column in self.columns],
        ]
        lines += [[_markdown_cell(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]
        return "\n".join(f"| {' | '.join(map(markdown_syntax.cell, line))} |" for line in lines)

    def html(self) -> HtmlTable:
        """Head and rows for a template, which escapes them."""
        rows = [["" if cell is None else _html_cell(cell) for cell in row] for row in self.rows]
        has_numbers = any(column.is_right for column in self.columns)
        return HtmlTable([printable(column.head) for column in self.columns], rows, has_numbers)

    def text(self, width: int | None = None, longest_name: int | None = None) -> list[str]:
        """Lines for a terminal, in as many parts as the width asks for; the first column stands before each part.

        Args:
            width: columns of the terminal; by default all stands in one part.
            longest_name: characters of heads, and of cells of the first column.
        """
        lines = [[one_line(column.head, longest_name) for column in self.columns]]
        lines += [
            [one_line(str(cell), None if number else longest_name) for number, cell in enumerate(row)]
            for row in self.rows
        ]
        widths = column_widths(lines)
        parts: list[str] = []
        start = 1
        while start < len(self.columns):
            end, used = start, widths[0]
            while end < len(self.columns) and (
                width is None or end == start or used + len(_GAP) + widths[end] <= width
            ):
                used += len(_GAP) + widths[end]
                end += 1
            parts += [""] if parts else []
            chosen = [0, *range(start, end)]
            parts += laid_out([[line[number] for number in chosen] for line in lines])
            start = end
        return parts


def laid_out(lines: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Cells as lines, two spaces between the columns, each as wide as its widest cell.

    Args:
        lines: a list of cells each.
        left: the columns that stand to the left; the others stand to the right.
    """
    widths = column_widths(lines)
    return [
        _GAP.join(
            cell + " " * (width - cell_len(cell)) if number in left else " " * (width - cell_len(cell)) + cell
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def column_widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """How wide the widest cell of each column is."""
    return [max(map(cell_len, column)) for column in zip(*lines, strict=True)]


def _html_cell(cell: object) -> str:
    """The cell as the template escapes it; a link is escaped already."""
    text = printable(str(cell))
    return Markup('<a href="#{}">{}</a>').format(cell.target, text) if isinstance(cell, Linked) else text


def _markdown_cell(column: Column, cell: object) -> str:
    if cell is None:
        return ""
    if column.kind in ("number", "markdown"):
        return str(cell)
    return (markdown_syntax.code if column.kind == "name" else markdown_syntax.prose)(str(cell), column.limit)
