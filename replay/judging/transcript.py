"""A trajectory as a judge reads it: its steps, calls and answers, each cut where it is long."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from replay.records import Call, Trajectory, texts_of
from replay.records.server import Tool
from replay.safety.text import cut

_MAX_ARGUMENTS: Final = 600
_MAX_ANSWER: Final = 1_200
_MAX_DESCRIPTION: Final = 160


def step_texts(trajectory: Trajectory, letter: str) -> str:
    """The steps, numbered with a letter: `P1: ...`."""
    return "\n".join(_lines(trajectory, letter)) or f"{letter}1: (no tool was called)"


def _lines(trajectory: Trajectory, letter: str) -> Iterator[str]:
    for number, step in enumerate(trajectory.steps, 1):
        yield f"{letter}{number}:"
        for call in step.calls:
            yield f"  call {_call(call)}"
            yield f"  answer {_answer(call)}"


def _call(call: Call) -> str:
    if call.unreadable == "call":
        return f"(not readable as a call) {cut(call.raw or '', _MAX_ARGUMENTS)}"
    arguments = call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    return f"{call.name or '(no name)'} {cut(arguments or '', _MAX_ARGUMENTS)}"


def _answer(call: Call) -> str:
    if call.answer is None:
        return "(none)"
    return cut("\n".join(texts_of(call.answer)), _MAX_ANSWER) or "(empty)"


def tool_lines(tools: Iterable[Tool]) -> str:
    """A line a tool."""
    lines = (f"- {tool.name}: {cut((tool.description or '').strip(), _MAX_DESCRIPTION)}" for tool in tools)
    return "\n".join(lines) or "(not given)"
