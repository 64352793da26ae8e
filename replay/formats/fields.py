"""The fields of JSON objects that nobody validated: what stands there, or None where it is of another kind."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from replay.json_values import json_value
from replay.records import JsonObject


class _Missing:
    """Marks a field that is absent, which null is not."""


MISSING = _Missing()


def as_object(value: Any) -> dict[str, Any] | None:
    """The value where it is a JSON object, else None."""
    return value if isinstance(value, dict) else None


def object_in(value: Any, *keys: str) -> JsonObject:
    """The object itself, or the one under keys of objects in each other; an empty one where it is not there."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[JsonObject]:
    """The objects in a list; nothing where it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str | None:
    """A string that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def identifier_of(value: Any) -> str | None:
    """An id: a string that is not empty, or a number, else None."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def as_number(value: Any) -> float | None:
    """A number; None where it is something else, or an integer too large to be counted with."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def whole_number(value: Any) -> int | None:
    """A count, also where it was written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def sum_of(counts: JsonObject, *keys: str) -> int | None:
    """The sum of the counts under several keys; None where none of them is there."""
    numbers = [counts[key] for key in keys if isinstance(counts.get(key), int)]
    return sum(numbers) if numbers else None


def first_of(values: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that is there and not null."""
    return next((values[key] for key in keys if values.get(key) is not None), None)


def joined_text(content: Any) -> str | None:
    """The text of a message: a string, or the texts of its parts; None where there is none."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects(content) if isinstance(part.get("text"), str)) or None


def paragraphs(texts: Iterable[str | None]) -> str | None:
    """Texts with an empty line between them; None where there are none."""
    return "\n\n".join(text for text in texts if text) or None


def to_json(value: Any) -> str:
    """A JSON value as text; of one too deep to be written that it is."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be kept)"


def nested_lines(value: JsonObject, is_line: Callable[[JsonObject], bool]) -> list[JsonObject]:
    """A line of a log by itself, or the lines that an object around them holds as a list under one of its keys."""
    if is_line(value):
        return [value]
    lists = map(objects, value.values())
    typed = (lines for lines in lists if {"type", "msg"} & set().union(*lines))  # as a log's lines are
    return next((lines for lines in typed if any(map(is_line, lines))), [value])


def opened(value: Any) -> Any:
    """The object or list that a text holds as JSON; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json_value(value)
        except ValueError:
            return value
    return value


def opened_repr(value: Any) -> Any:
    """As `opened`, and also what Python's `str()` makes of a dict: `{'city': 'Rome'}`."""
    found = opened(value)
    literal = python_value(found) if isinstance(found, str) and found.lstrip()[:1] == "{" else None
    return literal if isinstance(literal, dict) and all(isinstance(key, str) for key in literal) else found


def python_value(text: str) -> Any:
    """The value that a text is as Python writes it; None where it is none."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
