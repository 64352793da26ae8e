"""JSON, indented, each line with the pointer of what stands on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple


class JsonLine(NamedTuple):
    """One line."""

    text: str
    pointer: str
    opens: bool
    """Whether it is the first line of its value."""


def json_lines(value: Any) -> list[JsonLine]:
    """The value as `json.dumps(..., indent=2)` writes it, but short lists of plain values on one line."""
    return list(_lines(value, "", "", ""))


_SHORT = 72
"""Characters up to which a list of plain values stands on one line."""


def _lines(value: Any, pointer: str, indent: str, lead: str) -> Iterator[JsonLine]:
    if isinstance(value, list) and value and (short := _on_one_line(value)):
        yield JsonLine(f"{indent}{lead}{short}", pointer, True)
        return
    if isinstance(value, dict) and value:
        members = [
            (f"{json.dumps(key, ensure_ascii=False)}: ", _joined(pointer, key), item) for key, item in value.items()
        ]
        yield from _nested("{", "}", members, pointer, indent, lead)
    elif isinstance(value, list) and value:
        members = [("", f"{pointer}/{number}", item) for number, item in enumerate(value)]
        yield from _nested("[", "]", members, pointer, indent, lead)
    else:
        yield JsonLine(f"{indent}{lead}{json.dumps(value, ensure_ascii=False)}", pointer, True)


def _on_one_line(values: list[Any]) -> str:
    if len(values) > _SHORT or any(isinstance(value, dict | list) for value in values):
        return ""
    text = json.dumps(values, ensure_ascii=False)
    return text if len(text) <= _SHORT else ""


def _nested(
    left: str, right: str, members: list[tuple[str, str, Any]], pointer: str, indent: str, lead: str
) -> Iterator[JsonLine]:
    yield JsonLine(f"{indent}{lead}{left}", pointer, True)
    for number, (name, place, item) in enumerate(members):
        inner = list(_lines(item, place, indent + "  ", name))
        if number < len(members) - 1:
            inner[-1] = inner[-1]._replace(text=inner[-1].text + ",")
        yield from inner
    yield JsonLine(f"{indent}{right}", pointer, False)


def _joined(pointer: str, key: str) -> str:
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
