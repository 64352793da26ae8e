"""From JSON values of any type to calls, answers and steps; used by every reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from replay.json_values import json_value
from replay.records import Answer, Call, JsonObject, Step, TextAnswer, ToolResult

MAX_DEPTH = 200
"""Nesting of arguments and answers; a deeper value is kept as its text."""
_CONTAINERS = (dict, list)


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
    if not isinstance(arguments, dict) or is_too_deep(arguments):
        raw = None if arguments is MISSING else to_json(arguments)
        return Call(position="", name=name, unreadable="arguments", raw=raw, **fields)
    return Call(position="", name=name, arguments=arguments, **fields)


def text_call(name: str, text: str, **fields: Any) -> Call:
    """A call of a harness tool whose argument is free text, such as a patch."""
    return Call(position="", name=name, raw=text, local=True, **fields)


def json_text_call(name: Any, text: Any, **fields: Any) -> Call:
    """A call whose arguments stand in the file as JSON text, as OpenAI's formats have them; `""` means `{}`."""
    if not isinstance(text, str):
        return build_call(name, text, **fields)
    if not text.strip():
        return build_call(name, {}, **fields)
    try:
        value = json_value(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return build_call(name, value, **fields)
    call = build_call(name, {}, **fields)
    if call.unreadable == "name":
        return call
    return call.model_copy(update={"arguments": None, "unreadable": "arguments", "raw": text})


def result_with_flag(content: Any, is_error: bool | None) -> Answer | None:
    """An answer of a format that has an error flag: text, content blocks or any other JSON, and the flag.

    With None for the flag (the format has none, or left it out) it is what `recorded_answer` makes of it.
    """
    if is_error is None:
        return recorded_answer(content)
    if is_too_deep(content):
        content = to_json(content)
    if isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        return ToolResult(content=tuple(content), is_error=is_error)
    if isinstance(content, dict) and isinstance(content.get("content"), list):
        answer = recorded_answer(content)
        return answer.model_copy(update={"is_error": is_error}) if isinstance(answer, ToolResult) else answer
    text = content if isinstance(content, str) else "" if content is None else to_json(content)
    return ToolResult(content=({"type": "text", "text": text},), is_error=is_error)


def nested_lines(value: Any, is_line: Callable[[JsonObject], bool]) -> list[JsonObject]:
    """A line of a log by itself, or the lines that an object around them holds as a list under one of its keys."""
    if not isinstance(value, dict) or is_line(value):
        return [value] if isinstance(value, dict) else []
    lists = (list(objects(inner)) for inner in value.values() if isinstance(inner, list))
    return next((lines for lines in lists if any(map(is_line, lines))), [value])


def seconds_between(start: Any, moment: Any) -> float | None:
    """From one ISO 8601 time to another; None where one of them is not a time, or the clock went back."""
    try:
        seconds = (datetime.fromisoformat(moment) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value is nested deeper than what files of ours can hold."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH - 1):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, _CONTAINERS)
        ]
        if not level:
            return False
    return any(level)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in what should be a list of them."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


class _Missing:
    """Marks a field that is absent, which null is not."""


MISSING = _Missing()


def as_number(value: Any) -> float | None:
    """A number; None where it is something else, or an integer too large to be counted with."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def as_object(value: Any) -> dict[str, Any] | None:
    """The value where it is a JSON object, else None."""
    return value if isinstance(value, dict) else None


def to_json(value: Any) -> str:
    """A JSON value as text; of one too deep to be written that it is."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be kept)"


def recorded_answer(value: Any) -> Answer | None:
    """What a recording kept of an answer: None, text, a whole `CallToolResult`, or any other JSON as text."""
    if value is None:
        return None
    if isinstance(value, str):
        return TextAnswer(text=value)
    if is_too_deep(value):
        return TextAnswer(text=to_json(value))
    if isinstance(value, dict) and isinstance(value.get("content"), list) and all(map(as_object, value["content"])):
        return ToolResult(
            content=tuple(value["content"]),
            structured=value.get("structuredContent", value.get("structured_content")),
            is_error=value.get("isError", value.get("is_error")) is True,
        )
    return TextAnswer(text=to_json(value))
