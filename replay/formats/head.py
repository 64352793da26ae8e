"""The beginning of a file, opened as far as it goes, for readers to tell their format by."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from replay.formats.decoding import DECODER

CONTAINER_KEYS = ("data", "items", "results", "predictions")
"""Keys under which results files keep their list of records."""

HEAD_BYTES = 256 * 1024
MAX_HEAD_RECORDS = 200
MAX_HEAD_DEPTH = 200

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Head:
    """The first kilobytes of a file."""

    path: str
    data: bytes
    """The first bytes as they are."""
    records: tuple[Any, ...]
    """The first records: lines of JSON Lines, values one after the other, elements of a top-level list, or the one
    object. The last one may be cut off where the kilobytes end: it then has the members that were seen so far."""
    members: tuple[str, ...] = ()
    """Of a zip: the names in it; `records` is empty then."""
    whole: tuple[Any] | None = None
    """The one JSON value that these bytes are; None where they are not a single one."""

    @property
    def first(self) -> dict[str, Any]:
        """The first record that is an object; empty where there is none."""
        return next((record for record in self.records if isinstance(record, dict)), {})

    @property
    def elements(self) -> tuple[Any, ...]:
        """The records, or what they hold under a container key or by id, as `Document.elements` gives them."""
        if len(self.records) != 1 or not isinstance(self.records[0], dict):
            return self.records
        record = self.records[0]
        for number, (key, value) in enumerate(record.items()):
            if key in CONTAINER_KEYS and isinstance(value, list | dict):
                return tuple(value.values() if isinstance(value, dict) else value)
            if number == 0 and isinstance(value, dict) and isinstance(value.get("steps"), list):
                return tuple(record.values())
        return self.records


def head_of(path: str, data: bytes, members: tuple[str, ...] = ()) -> Head:
    """The head of a file from its first bytes."""
    text = data.decode("utf-8-sig", "ignore")
    if members:
        return Head(path, data, (), members)
    try:
        value = from_json(text)
    except ValueError:  # cut off, several values, or what only the slower reader takes
        return Head(path, data, tuple(_records(text)))
    if text[_skip(text, 0)] not in "[{":
        return Head(path, data, ())
    return Head(path, data, tuple(value) if isinstance(value, list) else (value,), whole=(value,))


def _records(text: str) -> list[Any]:
    found: list[Any] = []
    position = _skip(text, 0)
    while position < len(text) and len(found) < MAX_HEAD_RECORDS:
        if text[position] not in "[{":
            end = text.find("\n", position)
            position = _skip(text, len(text) if end < 0 else end)
            continue
        value, position = _value(text, position)
        found += value if isinstance(value, list) else [] if value is None else [value]
    return found


def _value(text: str, start: int) -> tuple[Any, int]:
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        end = text.find("\n", start)
        whole_line = text[start : len(text) if end < 0 else end]
        value = partial_json(text[start:])
        if end >= 0 and not _spans_lines(whole_line):
            return partial_json(whole_line), _skip(text, end)
        return value, len(text)
    return value, _skip(text, end)


def _spans_lines(line: str) -> bool:
    """Whether a value that begins on this line goes on below it, as a pretty-printed one does."""
    return line.strip() in {"{", "["} or line.rstrip().endswith(("{", "[", ","))


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def partial_json(text: str) -> Any:
    """The value at the beginning of a text that may end in the middle of it: whatever is complete is kept."""
    for _ in range(2):
        end, closers = _complete_part(text)
        try:
            return DECODER.decode(text[:end] + closers)
        except json.JSONDecodeError as error:
            text = text[: error.pos]
        except (ValueError, RecursionError):
            break
    return None


def _complete_part(text: str) -> tuple[int, str]:
    """Where the last complete value ends, and the brackets that close what is still open there."""
    open_brackets: list[str] = []
    end, expects_key = 0, False
    for match in _TOKEN.finditer(text):
        mark = match.group()
        if mark in _CLOSERS:
            open_brackets.append(_CLOSERS[mark])
            expects_key = mark == "{"
        elif mark in {"}", "]"}:
            if not open_brackets or open_brackets.pop() != mark:
                break
        elif mark in {",", ":"}:
            expects_key = mark == "," and open_brackets[-1:] == ["}"]
            continue
        elif expects_key or match.end() == len(text):
            continue
        end = match.end()
        if not open_brackets or len(open_brackets) == MAX_HEAD_DEPTH:
            break
    return end, "".join(reversed(open_brackets))
