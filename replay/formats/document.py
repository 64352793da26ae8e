"""JSON documents read record by record, so that a large results file never stands in memory as one tree."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, BinaryIO, Literal

from pydantic_core import from_json

from replay.errors import FormatError, UnknownFormatError
from replay.formats.decoding import DECODER, TooDeepError, decoded, without_lone_surrogates
from replay.formats.head import CONTAINER_KEYS, HEAD_BYTES, Head, head_of
from replay.formats.input_file import InputFile

MAX_LINE_BYTES = 512 * 1024 * 1024
MAX_NOTES = 20
TOO_DEEP = "values are nested too deeply to be read"

RECORD_KEYS = ("format", "messages", "steps")
"""Keys that make an object the one record of its file, whatever else it holds."""

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Element:
    """One record of a file."""

    place: str
    """`$[3]`, `$.results[3]`, `$` or `line 12`."""
    key: str | None
    """Its key, where the file is an object of records by id."""
    value: Any


class Document:
    """One pass through a file.

    Args:
        file: the file.
        only: places to read, where the other records belong to another reader; None for all.
    """

    def __init__(self, file: InputFile, only: frozenset[str] | None = None) -> None:
        self.path = file.path
        self.notes: list[str] = []
        """What was not read, and why, one sentence each, with the place."""
        self.left: list[str] = []
        """Places of the records that the reader left for other readers."""
        self._file = file
        self._only = only

    def open(self) -> BinaryIO:
        """The bytes from the beginning, for formats that are not JSON."""
        return self._file.open()

    def note(self, text: str, place: str = "") -> None:
        """Say what was not read."""
        if len(self.notes) == MAX_NOTES:
            self.notes.append(f"{self.path}: more of this kind is not listed")
        elif len(self.notes) < MAX_NOTES:
            self.notes.append(": ".join(part for part in (self.path, place, text) if part))

    def leave(self, element: Element) -> None:
        """Leave a record that is not of this format to other readers."""
        self.left.append(element.place)

    @cached_property
    def head(self) -> Head:
        """The first kilobytes."""
        return head_of(self.path, self._beginning, self._file.members)

    @cached_property
    def _beginning(self) -> bytes:
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def shape(self) -> Literal["array", "object", "lines"]:
        """`array`: a list of records; `object`: one record, records by id, or under a container key; `lines`: JSONL."""
        if len(self._beginning) < HEAD_BYTES and b"\n" not in self._beginning.strip():
            return "array" if self._beginning.lstrip(b"\xef\xbb\xbf").lstrip()[:1] == b"[" else "object"
        with self.open() as stream:
            first = next((line for line in _lines_of(stream) if line.strip()), b"").lstrip(b"\xef\xbb\xbf").lstrip()
            if first[:1] == b"[":
                return "array"
            more = any(line.strip() for line in _lines_of(stream))
        return "lines" if more and _is_whole(first) else "object"

    @cached_property
    def text(self) -> str:
        """The whole file as text.

        Raises:
            FormatError: it is not UTF-8 text.
        """
        with self.open() as stream:
            data = stream.read()
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise FormatError(self.path, f"not UTF-8 text (byte 0x{data[error.start]:02x})", f"line {line}") from None

    def check_is_json(self) -> None:
        """Check that the file begins as JSON does.

        Raises:
            FormatError: it is empty or something else.
        """
        beginning = self.head.data.decode("utf-8-sig", "replace")
        stripped = beginning.lstrip()
        if not stripped:
            raise FormatError(self.path, "the file is empty; expected JSON or JSON Lines with trajectories")
        if stripped[0] not in "[{":
            start = len(beginning) - len(stripped)
            place = (
                f"line {beginning.count(chr(10), 0, start) + 1}, column {start - beginning.rfind(chr(10), 0, start)}"
            )
            raise UnknownFormatError(self.path, f"expected JSON ('{{' or '['), found {stripped[:20]!r}", place)

    def records(self) -> Iterator[Element]:
        """The records as they stand at the top of the file: the lines of JSON Lines, the elements of a list, or the
        one object; of several values one after the other each one's.

        Raises:
            FormatError: broken JSON, with line and column.
        """
        return self._wanted(self._lines() if self.shape == "lines" else self._values(open_containers=False))

    def elements(self) -> Iterator[Element]:
        """As `records`, and where the file is one object, the records in it by id or under a container key.

        Raises:
            FormatError: broken JSON, with line and column.
        """
        return self._wanted(self._lines() if self.shape == "lines" else self._values(open_containers=True))

    def _wanted(self, elements: Iterator[Element]) -> Iterator[Element]:
        return elements if self._only is None else (item for item in elements if item.place in self._only)

    def _lines(self) -> Iterator[Element]:
        """The lines that are JSON; a broken one is noted, and the last one, still being written, is not."""
        broken: tuple[int, str] | None = None
        with self.open() as stream:
            for number, line in enumerate(_lines_of(stream), 1):
                if not line.strip():
                    continue
                if broken:
                    self.note(f"broken JSON, this line was not read: {broken[1]}", f"line {broken[0]}")
                    broken = None
                try:
                    value = _decode_line(line)
                except ValueError as error:
                    broken = (number, _reason(error))
                    continue
                yield Element(f"line {number}", None, value)
        if broken:
            self.note(
                "the last line is not whole (still being written?); everything before it was read", f"line {broken[0]}"
            )

    @cached_property
    def _begin(self) -> int:
        """Offset of the first value."""
        return self._skip(0)

    def _values(self, *, open_containers: bool) -> Iterator[Element]:
        position, number = self._begin, 0
        while position < len(self.text):
            prefix = f"value {number + 1}: $" if number else "$"
            if self.text[position] not in "[{" and number:
                line = self.text.count("\n", 0, position) + 1
                self.note(
                    f"{self.text[position : position + 20]!r} and what follows is not JSON; not read", f"line {line}"
                )
                return
            position = yield from self._one_value(position, prefix, open_containers=open_containers)
            position, number = self._skip(position), number + 1

    def _one_value(self, start: int, place: str, *, open_containers: bool) -> Generator[Element, None, int]:
        if self.text[start] == "[":
            return (yield from self._array(start, place))
        if open_containers:
            return (yield from self._object(start, place))
        value, end = self._value(start)
        yield Element(place, None, value)
        return end

    def _array(self, start: int, place: str) -> Generator[Element, None, int]:
        """The elements of a list; a generator of values returns the offset behind what it read."""
        index, position = 0, self._skip(start + 1)
        if self.text[position : position + 1] == "]":
            return position + 1
        while True:
            value, end = self._value(position)
            yield Element(f"{place}[{index}]", None, value)
            index, (position, closed) = index + 1, self._after(end, "]")
            if closed:
                return position

    def _object(self, start: int, place: str) -> Generator[Element, None, int]:
        """Records under container keys, or by id, or the object itself as the one record."""
        opened = False
        position, closed = self._first_member(start)
        is_first = True
        while not closed:
            try:
                key, begin = self._key(position)
                if key in CONTAINER_KEYS and self.text[begin : begin + 1] in {"[", "{"}:
                    opened = True
                    read = self._array if self.text[begin] == "[" else self._by_id
                    end = yield from read(begin, f"{place}.{key}")
                elif key in RECORD_KEYS and not opened:
                    break
                else:
                    value, end = self._value(begin)
                    if is_first and _is_record(value):
                        return (yield from self._by_id(start, place))
                position, closed = self._after(end, "}")
            except FormatError as error:
                if not opened or error.place == "":
                    raise
                self.note(f"{error.message}; from here on nothing was read", error.place)
                return len(self.text)
            is_first = False
        if opened:
            return position
        value, end = self._value(start)
        yield Element(place, None, value)
        return end

    def _by_id(self, start: int, place: str) -> Generator[Element, None, int]:
        position, closed = self._first_member(start)
        while not closed:
            key, begin = self._key(position)
            value, end = self._value(begin)
            yield Element(f"{place}.{key}", key, value)
            position, closed = self._after(end, "}")
        return position

    def _first_member(self, start: int) -> tuple[int, bool]:
        """Offset of the first member of the object that begins at `start`, and whether it has none."""
        position = self._skip(start + 1)
        return (position + 1, True) if self.text[position : position + 1] == "}" else (position, False)

    def _key(self, position: int) -> tuple[str, int]:
        """The key at an offset, and the offset of its value."""
        key, end = self._value(position)
        if not isinstance(key, str):
            raise self.broken(position, "a key in double quotes")
        colon = self._skip(end)
        if self.text[colon : colon + 1] != ":":
            raise self.broken(colon, "':' after a key")
        return key, self._skip(colon + 1)

    def _after(self, end: int, closing: str) -> tuple[int, bool]:
        """Offset of what follows the value that ended at `end`, and whether its container is closed there."""
        position = self._skip(end)
        mark = self.text[position : position + 1]
        if mark not in {",", closing}:
            raise self.broken(position, f"',' or '{closing}'")
        return (position + 1, True) if mark == closing else (self._skip(position + 1), False)

    def _skip(self, position: int) -> int:
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def _value(self, start: int) -> tuple[Any, int]:
        if start == self._begin:
            known = self._take_whole()
            if known is not None:
                return known[0], len(self.text)
            try:
                return from_json(self.text[start:] if start else self.text), len(self.text)
            except ValueError:
                pass  # more follows it, it is broken, or has what only the slower reader takes
        try:
            value, end = self._decode(start)
        except json.JSONDecodeError as error:
            raise self.broken(error.pos, error.msg) from None
        except RecursionError:
            raise FormatError(self.path, TOO_DEEP) from None
        return (without_lone_surrogates(value) if "\\ud" in self.text[start:end].lower() else value), end

    def _take_whole(self) -> tuple[Any] | None:
        """The value that the file is, where it was decoded already to tell its format; handed out once."""
        head: Head | None = self.__dict__.get("head")
        if head is None or head.whole is None or len(self._beginning) == HEAD_BYTES:
            return None
        self.head = replace(head, whole=None)
        return head.whole

    def _decode(self, start: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:  # an integer of thousands of digits
            return DECODER.raw_decode(self.text, start)

    def broken(self, position: int, expected: str) -> FormatError:
        """The error for broken JSON at an offset."""
        line = self.text.count("\n", 0, position) + 1
        column = position - (self.text.rfind("\n", 0, position) + 1) + 1
        at_end = position >= len(self.text) or not self.text[position:].strip()
        found = "the file ends here" if at_end else repr(self.text[position : position + 20])
        return FormatError(
            self.path, f"broken JSON: {_lower_first(expected)}; found {found}", f"line {line}, column {column}"
        )


def _lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, ended by a line feed and nothing else: JSON strings may hold any other separator."""
    first = stream.readline(MAX_LINE_BYTES)
    if first:
        yield first.removeprefix(b"\xef\xbb\xbf")
        while line := stream.readline(MAX_LINE_BYTES):
            yield line


def _decode_line(line: bytes) -> Any:
    try:
        return from_json(line)
    except ValueError:
        pass  # it is broken, or has what only the slower reader takes: lone surrogates, deep nesting, huge integers
    return decoded(line.decode("utf-8"))


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{_lower_first(error.msg)} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return str(error)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(_decode_line(line), dict)
    except TooDeepError:
        return line.rstrip().endswith(b"}")
    except ValueError:
        return False


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
