"""What `replay tools` says of each tool, as plain lines, and the text, Markdown and HTML that are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from textwrap import wrap
from typing import Final, NamedTuple

from rich.cells import cell_len

from replay.diagnosis.phrasing import counted, listed, place, plain, quoted
from replay.records import Outcome
from replay.records.finding import CallRef
from replay.records.tool_usage import FieldProblem, Sighting, ToolReport, ToolUsage
from replay.reports import render_document
from replay.reports.basis import certainty_line
from replay.reports.json_ import ToolsDocument
from replay.reports.markdown_syntax import prose
from replay.reports.tables import Column, Table, laid_out
from replay.safety.text import one_line, printable

HEADINGS: Final = ("calls", "judged", "success", *(o.label for o in Outcome if o is not Outcome.SUCCESS), "advice")
"""Of the table of the tools, after the tool's name."""
_MAX_LINES: Final = 12
"""Of each section; the JSON has them all."""

_MIN_NAME, _MAX_NAME = 16, 48
CAUSES: Final = "Why calls failed, whatever the tool"
NO_CALLS: Final = "There is no call of these tools in the run."


class Section(NamedTuple):
    """A heading, and its lines."""

    title: str
    lines: list[str]


class AdviceLine(NamedTuple):
    """One piece of advice in words."""

    where: str
    rewrite: str
    why: str
    current: str | None
    """What stands there now."""


_ADVICE_COLUMNS: Final = (
    Column("where", "name", 200),
    Column("what to write"),
    Column("why"),
    Column("what stands there now", "name", 200),
)


def headline(report: ToolReport) -> str:
    """`21 tools, 57 calls of 2 models: 12 failed; 3 more calls name no tool that there is, and failed too`."""
    failed = sum(tool.failed for tool in report.tools)
    calls = f"{counted(report.calls, 'call')} of {counted(len(report.models), 'model')}"
    names = (*report.stray_names, *(name for tool in report.tools for name in tool.names_instead))
    more = sum(name.calls for name in names)
    verb = "names" if more == 1 else "name"
    elsewhere = f"; {counted(more, 'more call')} {verb} no tool that there is, and failed too" if more else ""
    return f"{counted(len(report.tools), 'tool')}, {calls}: {failed} failed{elsewhere}"


def numbers(tool: ToolUsage) -> list[str]:
    """The cells of a tool's row, as `HEADINGS`."""
    share = f"{tool.succeeded} ({100 * tool.succeeded / tool.judged:.0f} %)" if tool.judged else "-"
    others = [str(tool.outcomes.get(outcome, 0)) for outcome in Outcome if outcome is not Outcome.SUCCESS]
    return [str(tool.calls), str(tool.judged), share, *others, str(len(tool.advice))]


def tool_title(tool: ToolUsage) -> str:
    """`everything/echo: 5 of 7 judged calls failed`."""
    name = one_line(tool.name, 100)
    if not tool.judged:
        return f"{name}: {counted(tool.calls, 'call')}, none judged"
    return f"{name}: {tool.failed} of {counted(tool.judged, 'judged call')} failed"


def has_trouble(tool: ToolUsage) -> bool:
    """Whether anything is to be said of a tool beside its numbers."""
    return bool(
        tool.failed
        or tool.repeats
        or tool.names_instead
        or tool.fields
        or tool.values
        or tool.schema_faults
        or tool.advice
    )


def sections(tool: ToolUsage) -> Iterator[Section]:
    """What is to be said of a tool; sections without a line are left out."""
    if not tool.listed:
        note = "It stands in no tools/list of the run, so that its description and schema are not known."
        yield Section("Not listed", [note])
    found = {
        "By model": _models(tool),
        "Why calls failed": [f"{cause.kind}: {cause.sentence} {_seen(cause)}" for cause in tool.causes],
        "The same call again": [
            f"{repeats.sentence} {_seen(repeats)}"
            + (f"; in {repeats.trajectories} trajectories" if repeats.trajectories > 1 else "")
            for repeats in tool.repeats
        ],
        "Names called in its place": [
            f"{quoted(name.name, 80)}, {_SHOWN_BY[name.shown_by]} {_seen(name)}" for name in tool.names_instead
        ],
        "Fields": [f"{_field(problem)} {_seen(problem)}" for problem in tool.fields],
        "Values refused": [
            f"{place(value.pointer)}: {listed(list(value.values), 'or') or value.message} ({value.kind}) {_seen(value)}"
            for value in tool.values
        ],
        "Schema and server disagree": [
            f"{_FAULTS[fault.fault]} at {fault.pointer or 'the root'}: {plain(fault.sentence, 240)} {_seen(fault)}"
            for fault in tool.schema_faults
        ],
    }
    for title, lines in found.items():
        if lines:
            yield Section(title, _limited(lines))


def advice_lines(tool: ToolUsage) -> list[AdviceLine]:
    """What to rewrite."""
    return [
        AdviceLine(
            f"{advice.target} {one_line(advice.pointer, 200)}".rstrip(),
            advice.rewrite,
            f"{advice.why}{f' {example_id(advice.example)}' if advice.example else ''}",
            None if advice.current is None else quoted(advice.current, 200),
        )
        for advice in tool.advice
    ]


def shared_causes(report: ToolReport) -> list[str]:
    """Why calls failed, over all tools; nothing where no two tools failed."""
    if len({tool for cause in report.causes for tool in cause.tools}) < 2:
        return []
    return _limited(
        [
            f"{cause.kind}: {cause.sentence} {_seen(cause)}; {listed([one_line(name, 60) for name in cause.tools])}"
            for cause in report.causes
        ]
    )


def closing_lists(report: ToolReport) -> list[Section]:
    """Names that are no tool and of which nobody can say which was meant, and tools that no call names."""
    stray = [
        f"{quoted(stray.name, 80)}{f'; nearest: {listed(list(stray.nearest))}' if stray.nearest else ''} {_seen(stray)}"
        for stray in report.stray_names
    ]
    uncalled = [f"{one_line(idle.server, 60)}: {listed(list(idle.tools), most=20)}" for idle in report.uncalled]
    lists = [Section("Names that are no tool", _limited(stray)), Section("Listed, and called by nobody", uncalled)]
    return [section for section in lists if section.lines]


def _limited(lines: list[str]) -> list[str]:
    more = [f"and {len(lines) - _MAX_LINES} more; --format json has them all"] if len(lines) > _MAX_LINES else []
    return [*lines[:_MAX_LINES], *more]


_SHOWN_BY: Final = {
    "later-call": "as a later call that succeeded shows",
    "nearest-name": "to which this is the nearest name",
}
_FAULTS: Final = {
    "too-strict": "Too strict (the server took what the schema forbids)",
    "too-lax": "Too lax (the server refused what the schema allows)",
}


def _models(tool: ToolUsage) -> list[str]:
    return [
        f"{one_line(model.model, 60)}: {counted(model.calls, 'call')}; "
        + ", ".join(f"{count} {outcome.label}" for outcome, count in model.outcomes.items() if count)
        for model in tool.models
    ]


def _field(problem: FieldProblem) -> str:
    field = place(problem.pointer)
    taken = f", {counted(problem.accepted, 'time')} taken all the same" if problem.accepted else ""
    if problem.fault == "misnamed":
        return f"{field} misnamed: written {quoted(problem.written, 60)}{taken}"
    return f"{field} {'missing' if problem.fault == 'missing' else 'given, which the tool does not have'}{taken}"


def _seen(seen: Sighting) -> str:
    """`(3 calls of 2 models, as in gpt:task:s1c1)`."""
    models = f" of {counted(len(seen.models), 'model')}" if len(seen.models) > 1 else ""
    return f"({counted(seen.calls, 'call')}{models}, as in {example_id(seen.example)})"


def example_id(ref: CallRef) -> str:
    """The id that finds the call again whatever else the run holds."""
    return one_line(ref.full, 160)


def render(report: ToolReport, form: str, width: int = 160) -> str:
    """What was gathered in one of the formats `text`, `json`, `markdown` and `html`, without secrets.

    Args:
        report: what was gathered.
        form: the format.
        width: of the text: columns that there are.
    """
    return render_document(
        ToolsDocument(**dict(report)),
        form,
        {"text": partial(tools_text, width=width), "markdown": tools_markdown, "html": tools_html},
    )


def tools_text(report: ToolReport, width: int = 160) -> str:
    """A table of the tools, then what is to be said of each.

    Args:
        report: what was gathered.
        width: columns that there are; only names and pointers may be longer.
    """
    if not report.tools and not report.stray_names:
        return NO_CALLS
    parts = [headline(report)]
    if report.tools:
        basis = certainty_line(report.certainties)
        parts.append("\n".join([*_table_text(report, width), *(_indented(basis, width, 0) if basis else ())]))
    if causes := shared_causes(report):
        parts.append("\n".join([CAUSES, *(row for line in causes for row in _indented(line, width, 2))]))
    parts += ["\n".join(_tool_text(tool, width)) for tool in report.tools if has_trouble(tool)]
    for title, lines in closing_lists(report):
        parts.append("\n".join([title, *(row for line in lines for row in _indented(line, width, 2))]))
    return "\n\n".join(parts)


def _table_text(report: ToolReport, width: int) -> list[str]:
    """Columns that hold nothing are left out; names are cut where there is little room."""
    cells = [HEADINGS, *map(numbers, report.tools)]
    kept = [column for column in range(len(HEADINGS)) if any(row[column] not in {"0", "-"} for row in cells[1:])]
    room = width - sum(max(cell_len(row[column]) for row in cells) + 2 for column in kept)
    names = ["tool", *(one_line(tool.name, max(min(room, _MAX_NAME), _MIN_NAME)) for tool in report.tools)]
    return laid_out(
        [
            [name, *("." if row[column] == "0" else row[column] for column in kept)]
            for name, row in zip(names, cells, strict=True)
        ]
    )


def _tool_text(tool: ToolUsage, width: int) -> Iterator[str]:
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


def tools_markdown(report: ToolReport) -> str:
    """The same as the text, with a section a tool: for an issue at the server's tracker, or the page of a CI job."""
    parts = ["# Tools, as their calls show them", f"{prose(headline(report))}."]
    columns = [Column("tool", "name", 100), *(Column(heading, "number") for heading in HEADINGS)]
    table = Table(columns, [[tool.name, *numbers(tool)] for tool in report.tools])
    parts.append(table.markdown() if report.tools else NO_CALLS)
    parts += filter(None, [prose(certainty_line(report.certainties))])
    if causes := shared_causes(report):
        parts.append(f"## {CAUSES}\n\n{_markdown_list(causes)}")
    for tool in filter(has_trouble, report.tools):
        parts.append(f"## {prose(tool_title(tool))}")
        parts += [f"### {title}\n\n{_markdown_list(lines)}" for title, lines in sections(tool)]
        if advice := advice_lines(tool):
            parts.append(f"### What to rewrite\n\n{Table(_ADVICE_COLUMNS, advice).markdown()}")
    parts += [f"## {title}\n\n{_markdown_list(lines)}" for title, lines in closing_lists(report)]
    return "\n\n".join(parts) + "\n"


def _markdown_list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {prose(line)}" for line in lines)


def tools_html(report: ToolReport) -> str:
    """One page that loads nothing and runs nothing; every text in it is escaped."""
    from replay.reports.page import page, part

    return page(
        "tools.html",
        style=part("page.css", "tools.css"),
        headline=headline(report),
        basis=certainty_line(report.certainties),
        headings=HEADINGS,
        causes=Section(CAUSES, shared_causes(report)),
        tools=[
            {
                "id": f"tool-{number}",
                "name": one_line(tool.name, 100),
                "title": tool_title(tool),
                "numbers": numbers(tool),
                "trouble": has_trouble(tool),
                "sections": list(sections(tool)),
                "advice": advice_lines(tool),
            }
            for number, tool in enumerate(report.tools)
        ],
        lists=closing_lists(report),
    )
