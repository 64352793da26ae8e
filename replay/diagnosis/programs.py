"""Programs that a call ran: the line that says why they failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replay.diagnosis.phrasing import plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records.finding import Finding

_EXCEPTION: Final = re.compile(
    r"^(?P<name>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|NotFound\w*)): ?(?P<words>.*)$", re.M
)
_PLACE: Final = re.compile(r'^\s*File "[^"\n]*", line (?P<line>\d+)', re.M)
_UNDEFINED: Final = re.compile(r"name '(?P<name>\w+)' is not defined")
_NO_MODULE: Final = re.compile(r"No module named '(?P<name>[\w.]+)'")
_NO_COMMAND: Final = re.compile(
    r"(?:^|\n)(?:[\w/]*sh: )?(?:line \d+: |\d+: )?(?P<name>[\w.-]+): (?:command )?not found"
)
_ENDED: Final = re.compile(r"\b(?:return|exit) code:? [1-9]")
_LAST_ERROR: Final = re.compile(
    r"^.*\b(?:error|fatal|cannot|failed|No such|not found|invalid|denied)\b.*$", re.M | re.I
)


def program_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """Why a program failed that the call ran; nothing for other calls."""
    row = context.rows[position]
    text = context.answer_text(position)
    if not (row.rule.startswith("program.") or _ENDED.search(text)):
        return
    exceptions = list(_EXCEPTION.finditer(text))
    if exceptions:
        yield _raised(context, position, text, exceptions[-1])
        return
    line = _NO_COMMAND.search(text) or _LAST_ERROR.search(text)
    if line is not None:
        yield Finding(
            kind="program-failed",
            scope="call",
            sentence=f"The program that the call ran failed: {plain(line[0].strip(), 240)}.",
            calls=context.refs(position),
            certainty=row.certainty,
        )


def _raised(context: TrajectoryContext, position: str, text: str, exception: re.Match[str]) -> Finding:
    lines = [match["line"] for match in _PLACE.finditer(text, 0, exception.start())]
    where = f" in line {lines[-1]}" if len(lines) == 1 else ""
    return Finding(
        kind="program-failed",
        scope="call",
        sentence=f"The program that the call ran raised {exception['name']}{where}: {plain(exception['words'], 200)}.",
        suggestion=_advice(context, position, exception["words"]),
        calls=context.refs(position),
        certainty=context.rows[position].certainty,
        details={"exception": exception["name"]},
    )


def _advice(context: TrajectoryContext, position: str, words: str) -> str | None:
    if undefined := _UNDEFINED.search(words):
        name = undefined["name"]
        setters = [call.position for call in context.earlier(position) if _sets(context, call.position, name)]
        earlier = f" {setters[-1]} set it, and this call's program did not see it." if setters else ""
        return f"Define {quoted(name)} in the code of this call.{earlier}"
    if module := _NO_MODULE.search(words):
        return f"Make the module {quoted(module['name'])} available where the program runs, or do without it."
    return None


def _sets(context: TrajectoryContext, position: str, name: str) -> bool:
    pattern = re.compile(rf"^\s*(?:{re.escape(name)}\s*=[^=]|def {re.escape(name)}\b|import {re.escape(name)}\b)", re.M)
    same_tool = context.calls[position].name
    code = [value for value in context.arguments(position).values() if isinstance(value, str)]
    return bool(same_tool) and any(pattern.search(text) for text in code)
