"""From JSON values of any type to calls, answers and steps; used by every reader."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from replay.records import Answer, Call, Step, TextAnswer, ToolResult


def number_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with each call's position: `s2c1` is the first call of the second step."""
    return tuple(
        step.model_copy(
            update={
                "calls": tuple(
                    call.model_copy(update={"position": f"s{number}c{index}"})
                    for index, call in enumerate(step.calls, 1)
                )
            }
        )
        for number, step in enumerate(steps, 1)
    )


def build_call(name: Any, arguments: Any, **fields: Any) -> Call:
    """A call from a name and arguments of any JSON type; what is not as it must be is kept verbatim in `raw`.

    Pass `arguments=MISSING` where the field is absent.
    """
    if not isinstance(name, str) or not name.strip():
        raw = None if name is None or name is MISSING else to_json(name)
        return Call(position="", unreadable="name", raw=raw, arguments=as_object(arguments), **fields)
    if not isinstance(arguments, dict):
        raw = None if arguments is MISSING else to_json(arguments)
        return Call(position="", name=name, unreadable="arguments", raw=raw, **fields)
    return Call(position="", name=name, arguments=arguments, **fields)


class _Missing:
    """Marks a field that is absent, which null is not."""


MISSING = _Missing()


def as_object(value: Any) -> dict[str, Any] | None:
    """The value where it is a JSON object, else None."""
    return value if isinstance(value, dict) else None


def to_json(value: Any) -> str:
    """A JSON value as text."""
    return json.dumps(value, ensure_ascii=False)


def recorded_answer(value: Any) -> Answer | None:
    """What a recording kept of an answer: None, text, a whole `CallToolResult`, or any other JSON as text."""
    if value is None:
        return None
    if isinstance(value, str):
        return TextAnswer(text=value)
    if isinstance(value, dict) and isinstance(value.get("content"), list) and all(map(as_object, value["content"])):
        return ToolResult(
            content=tuple(value["content"]),
            structured=value.get("structuredContent", value.get("structured_content")),
            is_error=value.get("isError", value.get("is_error")) is True,
        )
    return TextAnswer(text=to_json(value))
