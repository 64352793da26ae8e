"""`replay tools` for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.cells import cell_len

from replay.records.tool_usage import ToolReport, ToolUsage
from replay.reports.tool_sections import (
    HEADINGS,
    advice_lines,
    has_trouble,
    headline,
    numbers,
    sections,
    stray_lines,
    tool_title,
    uncalled_lines,
)
from replay.safety.text import one_line, printable

_MIN_NAME, _MAX_NAME = 16, 48


def tools_text(report: ToolReport, width: int = 160) -> str:
    """A table of the tools, then what is to be said of each.

    Args:
        report: what was gathered.
        width: columns that there are; only names and pointers may be longer.
    """
    if not report.tools and not report.stray_names:
        return "There is no call of these tools in the run."
    parts = [headline(report)]
    if report.tools:
        parts.append("\n".join(_table(report, width)))
    parts += ["\n".join(_tool(tool, width)) for tool in report.tools if has_trouble(tool)]
    for title, lines in (
        ("Names that are no tool", stray_lines(report)),
        ("Listed, and called by nobody", uncalled_lines(report)),
    ):
        if lines:
            parts.append("\n".join([title, *(row for line in lines for row in _indented(line, width, 2))]))
    return "\n\n".join(parts)


def _table(report: ToolReport, width: int) -> Iterator[str]:
    """Columns that hold nothing are left out; names are cut where there is little room."""
    cells = [HEADINGS, *map(numbers, report.tools)]
    kept = [column for column in range(len(HEADINGS)) if any(row[column] not in {"0", "-"} for row in cells[1:])]
    room = width - sum(max(cell_len(row[column]) for row in cells) + 2 for column in kept)
    names = ["tool", *(one_line(tool.name, max(min(room, _MAX_NAME), _MIN_NAME)) for tool in report.tools)]
    rows = [(name, *(row[column] for column in kept)) for name, row in zip(names, cells, strict=True)]
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first = row[0] + " " * (widths[0] - cell_len(row[0]))
        rest = (
            " " * (wide - cell_len(cell)) + cell if cell != "0" else " " * (wide - 1) + "."
            for cell, wide in zip(row[1:], widths[1:], strict=True)
        )
        yield "  ".join([first, *rest]).rstrip()


def _tool(tool: ToolUsage, width: int) -> Iterator[str]:
    yield tool_title(tool)
    for title, lines in sections(tool):
        yield f"  {title}"
        for line in lines:
            yield from _indented(line, width, 4)
    for number, advice in enumerate(advice_lines(tool), 1):
        if number == 1:
            yield "  What to rewrite"
        yield f"    {number}. {advice.where}"
        yield from _indented(advice.rewrite, width, 7)
        yield from _indented(f"because: {advice.why}", width, 7)
        if advice.current:
            yield from _indented(f"now: {advice.current}", width, 7)


def _indented(line: str, width: int, indent: int) -> list[str]:
    """A line broken between words, the rest of it further in."""
    return wrap(
        printable(line),
        max(width, 40),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
