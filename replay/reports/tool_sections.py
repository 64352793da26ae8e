"""What stands in every rendering of `replay tools`, as plain lines: each medium escapes and arranges them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from replay.diagnosis.phrasing import counted, listed, place, plain, quoted
from replay.records import Outcome
from replay.records.finding import CallRef
from replay.records.tool_usage import FieldProblem, Sighting, ToolReport, ToolUsage
from replay.safety.text import one_line

HEADINGS: Final = ("calls", "judged", "success", *(o.label for o in Outcome if o is not Outcome.SUCCESS), "advice")
"""Of the table of the tools, after the tool's name."""
_MAX_LINES: Final = 12
"""Of each section; the JSON has them all."""


class Section(NamedTuple):
    """A heading, and its lines."""

    title: str
    lines: list[str]


class AdviceLine(NamedTuple):
    """One piece of advice in words."""

    where: str
    rewrite: str
    why: str
    current: str
    """What stands there now; empty where nothing does."""


def headline(report: ToolReport) -> str:
    """`21 tools, 57 calls of 2 models; 12 failed`."""
    failed = sum(tool.failed for tool in report.tools)
    calls = f"{counted(report.calls, 'call')} of {counted(len(report.models), 'model')}"
    return f"{counted(len(report.tools), 'tool')}, {calls}: {failed} failed"


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
    return bool(tool.failed or tool.names_instead or tool.fields or tool.values or tool.schema_faults or tool.advice)


def sections(tool: ToolUsage) -> Iterator[Section]:
    """What is to be said of a tool; sections without a line are left out."""
    if not tool.listed:
        note = "It stands in no tools/list of the run, so that its description and schema are not known."
        yield Section("Not listed", [note])
    found = {
        "By model": _models(tool),
        "Why calls failed": [f"{cause.kind}: {cause.sentence} {_seen(cause)}" for cause in tool.causes],
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
            f"{advice.why}{f' {call_id(advice.example)}' if advice.example else ''}",
            "" if advice.current is None else quoted(advice.current, 200),
        )
        for advice in tool.advice
    ]


def stray_lines(report: ToolReport) -> list[str]:
    """Names that are no tool, and of which nobody can say which was meant."""
    lines = [
        f"{quoted(stray.name, 80)}{f'; nearest: {listed(list(stray.nearest))}' if stray.nearest else ''} {_seen(stray)}"
        for stray in report.stray_names
    ]
    return _limited(lines)


def uncalled_lines(report: ToolReport) -> list[str]:
    """Tools that no call names."""
    return [f"{one_line(idle.server, 60)}: {listed(list(idle.tools), most=20)}" for idle in report.uncalled]


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
    return f"({counted(seen.calls, 'call')}{models}, as in {call_id(seen.example)})"


def call_id(ref: CallRef) -> str:
    """The id that finds the call again whatever else the run holds."""
    return one_line(ref.full, 160)
