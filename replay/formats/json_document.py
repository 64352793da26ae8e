"""JSON documents read element by element, so that a large results file never stands in memory as one tree."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from replay.errors import FormatError

CONTAINER_KEYS = ("data", "items", "results", "predictions")
"""Keys under which results files keep their list of records."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Element:
    """One record of a file."""

    place: str
    """`$[3]`, `$.results[3]`, `$` or `line 12`."""
    key: str | None
    """Its key, where the file is an object of records by id."""
    start: int
    """Offset in the text, in characters."""
    value: Any


@dataclass(frozen=True)
class JsonDocument:
    """The text of a file and how it is built."""

    path: str
    text: str
    shape: Literal["array", "object", "lines"]
    """`array`: a list of records; `object`: one record, records by id, or under a container key; `lines`: JSONL."""

    def elements(self) -> Iterator[Element]:
        """The records, in the order of the file.

        Raises:
            FormatError: broken JSON, with line and column.
        """
        if self.shape == "lines":
            yield from self._lines()
        elif self.shape == "array":
            yield from self._array(self._skip(0), "$")
        else:
            yield from self._object()

    def decode(self, start: int) -> Any:
        """The JSON value that begins at `start`."""
        return self._value(start)[0]

    def _lines(self) -> Iterator[Element]:
        start = 0
        for number, line in enumerate(self.text.splitlines(keepends=True), 1):
            if line.strip():
                yield Element(f"line {number}", None, self._skip(start), self._value(self._skip(start))[0])
            start += len(line)

    def _array(self, start: int, place: str) -> Iterator[Element]:
        index, position = 0, self._skip(start + 1)
        if self.text[position : position + 1] == "]":
            return
        while True:
            value, end = self._value(position)
            yield Element(f"{place}[{index}]", None, position, value)
            index, position = index + 1, self._after(end, "]")
            if position < 0:
                return

    def _object(self) -> Iterator[Element]:
        """Records under a container key, or by id, or the object itself as the one record."""
        for number, (key, start) in enumerate(self._members()):
            if key in CONTAINER_KEYS and self.text[start] == "[":
                yield from self._array(start, f"$.{key}")
                return
            if key in CONTAINER_KEYS and self.text[start] == "{":
                yield from self._by_id(start, f"$.{key}")
                return
            if number == 0 and _is_record(self._value(start)[0]):
                yield from self._by_id(self._skip(0), "$")
                return
        yield Element("$", None, self._skip(0), self._value(self._skip(0))[0])

    def _by_id(self, start: int, place: str) -> Iterator[Element]:
        for key, position in self._members(start):
            yield Element(f"{place}.{key}", key, position, self._value(position)[0])

    def _members(self, start: int | None = None) -> Iterator[tuple[str, int]]:
        position = self._skip((self._skip(0) if start is None else start) + 1)
        if self.text[position : position + 1] == "}":
            return
        while position >= 0:
            key, end = self._value(position)
            if not isinstance(key, str):
                raise self.broken(position, "a key in double quotes")
            colon = self._skip(end)
            if self.text[colon : colon + 1] != ":":
                raise self.broken(colon, "':' after a key")
            begin = self._skip(colon + 1)
            yield key, begin
            position = self._after(self._value(begin)[1], "}")

    def _after(self, end: int, closing: str) -> int:
        """Offset of the next member after the value that ended at `end`, or -1 at the closing bracket."""
        position = self._skip(end)
        mark = self.text[position : position + 1]
        if mark == ",":
            return self._skip(position + 1)
        if mark != closing:
            raise self.broken(position, f"',' or '{closing}'")
        return -1

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def _value(self, start: int) -> tuple[Any, int]:
        try:
            value, end = _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            raise self.broken(error.pos, error.msg) from None
        except RecursionError:
            raise FormatError(self.path, "values are nested too deeply to be read") from None
        return (without_lone_surrogates(value) if "\\ud" in self.text[start:end].lower() else value), end

    def broken(self, position: int, expected: str) -> FormatError:
        """The error for broken JSON at an offset."""
        line = self.text.count("\n", 0, position) + 1
        column = position - (self.text.rfind("\n", 0, position) + 1) + 1
        found = (
            "the file ends here" if position >= len(self.text.rstrip()) else repr(self.text[position : position + 20])
        )
        return FormatError(
            self.path, f"broken JSON: {_lower_first(expected)}; found {found}", f"line {line}, column {column}"
        )


def read_document(path: Path) -> JsonDocument:
    """Read a file and tell how it is built.

    Raises:
        FormatError: it cannot be read, is not UTF-8 text, is empty, or does not begin as JSON.
    """
    text = _read_text(path)
    name = str(path)
    first = text.lstrip()[:1]
    if not first:
        raise FormatError(name, "the file is empty; expected JSON or JSON Lines with trajectories")
    if first not in "[{":
        raise FormatError(name, f"expected JSON ('{{' or '['), found {text.lstrip()[:20]!r}", _place_of_first(text))
    return JsonDocument(name, text, _shape(text, first))


def _shape(text: str, first: str) -> Literal["array", "object", "lines"]:
    if first == "[":
        return "array"
    head, _, rest = text.strip().partition("\n")
    if rest.strip() and _is_whole(head):
        return "lines"
    return "object"


def _is_whole(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FormatError(str(path), "no such file") from None
    except IsADirectoryError:
        raise FormatError(str(path), f"a directory, not a file; name its files: {path}/*.json") from None
    except OSError as error:
        raise FormatError(str(path), f"cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(str(path), f"not UTF-8 text (byte 0x{data[error.start]:02x})", f"line {line}") from None


def _place_of_first(text: str) -> str:
    start = len(text) - len(text.lstrip())
    line = text.count("\n", 0, start) + 1
    return f"line {line}, column {start - (text.rfind(chr(10), 0, start) + 1) + 1}"


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def without_lone_surrogates(value: Any) -> Any:
    """The same JSON value with lone UTF-16 surrogates, which no file of ours can hold, as U+FFFD."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(key): without_lone_surrogates(item) for key, item in value.items()}
    return value
