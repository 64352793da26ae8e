"""Calls that were no calls: what about their syntax is wrong, and how it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from replay.diagnosis.phrasing import plain
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Call, Outcome
from replay.records.finding import Finding

_OBJECT: Final = 'Write the arguments as a JSON object, e.g. {"name": "value"}; for no arguments, {}'
_SUGGESTIONS: Final = {
    "delimiters": (
        "wrapped-call",
        "Write the bare JSON, without the delimiters around it; or let the host strip them before it parses",
    ),
    "cut-off": ("cut-off-call", "Give the model more output tokens, or shorter values to write: the JSON never ended"),
    "escape": ("broken-escape", r"Write a backslash in a JSON string twice (\\), and no escapes that JSON lacks"),
    "trailing": ("text-after-call", "End the message with the JSON; what follows it belongs into another message"),
    "no-json": ("no-json", _OBJECT),
    "no-name": ("no-tool-name", 'Name the tool in "name", as tools/list gives it'),
    "name-not-text": ("no-tool-name", 'Give "name" as a JSON string, as tools/list gives it'),
    "no-arguments": ("no-arguments", 'Add "arguments": a JSON object, {} where the tool takes none'),
    "arguments-not-object": ("arguments-not-an-object", _OBJECT),
}
_ASSIGNMENTS: Final = re.compile(r"\s*\"?(?:[A-Za-z_]\w*=[^=,&]+)(?:[,&]\s*[A-Za-z_]\w*=[^=,&]+)*\"?\s*")


def syntax_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What is wrong with the syntax of a call."""
    row = context.rows[position]
    if row.outcome is not Outcome.ILLEGAL_FORMAT:
        return
    call = context.calls[position]
    kind, suggestion = _SUGGESTIONS.get(row.rule.rpartition(".")[2], ("no-json", _OBJECT))
    yield Finding(
        kind=kind,
        scope="call",
        sentence=f"{plain(row.message, 240)}.",
        suggestion=f"{_meant(call) or suggestion}.",
        calls=context.refs(position),
        certainty=row.certainty,
    )


def _meant(call: Call) -> str | None:
    """The object that a text such as `"message=hi"` stands for."""
    if call.unreadable != "arguments" or not call.raw or not _ASSIGNMENTS.fullmatch(call.raw):
        return None
    pairs = (part.partition("=") for part in re.split(r"[,&]", call.raw.strip().strip('"')))
    members = ", ".join(f'"{plain(key.strip())}": "{plain(value.strip())}"' for key, _, value in pairs)
    return f"Write the arguments as a JSON object: {{{members}}}"
