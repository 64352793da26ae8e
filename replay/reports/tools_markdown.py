"""`replay tools` as Markdown: for an issue at the server's tracker, or the page of a CI job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replay.records.tool_usage import ToolReport, ToolUsage
from replay.reports.markdown_syntax import code, prose, table
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


def tools_markdown(report: ToolReport) -> str:
    """The same as the text, with a section a tool."""
    parts = ["# Tools, as their calls show them", f"{prose(headline(report))}."]
    if report.tools:
        rows = [[code(tool.name, 100), *numbers(tool)] for tool in report.tools]
        parts.append(table(["tool", *HEADINGS], rows, frozenset(range(1, len(HEADINGS) + 1))))
    else:
        parts.append("There is no call of these tools in the run.")
    parts += ["\n\n".join(_tool(tool)) for tool in report.tools if has_trouble(tool)]
    for title, lines in (
        ("Names that are no tool", stray_lines(report)),
        ("Listed, and called by nobody", uncalled_lines(report)),
    ):
        if lines:
            parts.append(f"## {title}\n\n{_listed(lines)}")
    return "\n\n".join(parts) + "\n"


def _tool(tool: ToolUsage) -> Iterator[str]:
    yield f"## {prose(tool_title(tool))}"
    for title, lines in sections(tool):
        yield f"### {title}\n\n{_listed(lines)}"
    advice = advice_lines(tool)
    if advice:
        rows = [
            [
                code(line.where, 200),
                prose(line.rewrite),
                prose(line.why),
                code(line.current, 200) if line.current else "",
            ]
            for line in advice
        ]
        yield f"### What to rewrite\n\n{table(['where', 'what to write', 'why', 'what stands there now'], rows)}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {prose(line)}" for line in lines)
