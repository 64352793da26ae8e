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
    """The value as `json.dumps(..., indent=2)` writes it."""
    return list(_lines(value, "", "", ""))


def _lines(value: Any, pointer: str, indent: str, lead: str) -> Iterator[JsonLine]:
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
