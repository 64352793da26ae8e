"""A results file as its readers see it: its beginning, to tell its format by, and its records one after the other.

At the end, what a reader is: one file of this package for each format, listed in `READERS`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from replay.errors import FormatError, UnknownFormatError
from replay.formats.file_names import FileNames
from replay.formats.sources import GZIP, IN_AN_ARCHIVE, ZIP, InputFile, is_tar
from replay.json_values import TooDeepError, begun_json, first_json, json_value, with_whole_pairs
from replay.records import JsonObject, Trajectory

CONTAINER_KEYS = ("data", "items", "results", "predictions")
"""Keys under which results files keep their list of records."""

RECORD_KEYS = ("format", "messages", "steps")
"""Keys that make an object the one record of its file, whatever else it holds."""

HEAD_BYTES = 256 * 1024
MAX_HEAD_RECORDS = 200
MAX_BESIDE_BYTES = 64 * 1024 * 1024
MAX_LINE_BYTES = 256 * 1024 * 1024
"""A longer line is not read; nor held."""
MAX_VALUE_BYTES = 1024**3
"""Of a file that is not JSON Lines: it is decoded in one piece."""
MAX_NOTES = 20
_PIECE_BYTES = 1024 * 1024
TOO_DEEP = "values are nested too deeply to be read"

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Element:
    """One record of a file."""

    place: str
    """`$[3]`, `$.results[3]`, `$` or `line 12`."""
    key: str | None
    """Its key, where the file is an object of records by id."""
    value: Any


def opened_value(value: Any, place: str = "$") -> Iterator[Element]:
    """The records in a JSON value: of a list, of an object under its container keys or by id, or the object itself."""
    if isinstance(value, list):
        yield from (Element(f"{place}[{index}]", None, item) for index, item in enumerate(value))
        return
    key, inner = next(iter(value.items()), ("", None))
    if isinstance(inner, dict) and isinstance(inner.get("steps"), list) and key not in (*CONTAINER_KEYS, *RECORD_KEYS):
        yield from (Element(f"{place}.{key}", key, item) for key, item in value.items())
        return
    contains = False
    for key, inner in value.items():
        if key in CONTAINER_KEYS and isinstance(inner, list):
            contains = True
            yield from opened_value(inner, f"{place}.{key}")
        elif key in CONTAINER_KEYS and isinstance(inner, dict):
            contains = True
            yield from (Element(f"{place}.{key}.{name}", name, item) for name, item in inner.items())
        elif key in RECORD_KEYS and not contains:
            break
    if not contains:
        yield Element(place, None, value)


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
    whole: Any = None
    """The object or list that the file is, where the first kilobytes are all of it."""

    @property
    def objects(self) -> list[JsonObject]:
        """The records that are objects."""
        return [record for record in self.records if isinstance(record, dict)]

    @property
    def first(self) -> JsonObject:
        """The first record that is an object; empty where there is none."""
        return next(iter(self.objects), {})

    @property
    def elements(self) -> tuple[Any, ...]:
        """The records, or what they hold under a container key or by id, as `Document.elements` gives them."""
        if len(self.records) != 1 or not isinstance(self.records[0], dict):
            return self.records
        return tuple(element.value for element in opened_value(self.records[0]))


def head_of(path: str, data: bytes, members: tuple[str, ...] = ()) -> Head:
    """The head of a file from its first bytes."""
    if members:
        return Head(path, data, (), members)
    if len(data) < HEAD_BYTES:
        try:
            value = json_value(data.removeprefix(_BOM))
        except ValueError:  # several values, broken, or not JSON at all
            pass
        else:
            whole = value if isinstance(value, list | dict) else None
            records = whole if isinstance(whole, list) else [] if whole is None else [whole]
            return Head(path, data, tuple(records), whole=whole)
    return Head(path, data, tuple(_first_records(data.decode("utf-8-sig", "ignore"))))


def _first_records(text: str) -> Iterator[Any]:
    """The records at the beginning of a text, with what there is of the one at its end."""
    position, count = _skip(text, 0), 0
    while position < len(text) and count < MAX_HEAD_RECORDS:
        line_end = text.find("\n", position)
        if text[position] not in "[{":
            position = _skip(text, len(text) if line_end < 0 else line_end)
            continue
        try:
            value, end = first_json(text, position)
        except ValueError:
            value, end = begun_json(text[position:]), len(text)
        yield from value if isinstance(value, list) else [] if value is None else [value]
        position, count = _skip(text, end), count + 1


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class Document:
    """One pass through a file.

    Args:
        file: the file.
        names: how its name is read.
        only: places to read, where the other records belong to another reader; None for all.
    """

    def __init__(self, file: InputFile, names: FileNames, only: frozenset[str] | None = None) -> None:
        self.path = file.path
        self.notes: list[str] = []
        """What was not read, and why, one sentence each, with the place."""
        self.lost = 0
        """Places where records could not be read, and may hold calls."""
        self.left: list[str] = []
        """Places of the records that the reader left for other readers."""
        self.looked_for: list[str] = []
        """Paths of the files beside it that the reader looked for."""
        self._file = file
        self._names = names
        self._only = only

    @cached_property
    def model_name(self) -> str:
        """The model that the file's name tells, for trajectories that name none."""
        return self._names.model(self.path)

    @cached_property
    def model_of_results(self) -> str:
        """The same of a file of many tasks: such a file is called like its model."""
        return self._names.model_of_results(self.path)

    def model_beside(self, place: str) -> str:
        """The one or the other for a record, by whether it is all of its file."""
        return self.model_name if place == "$" else self.model_of_results

    @property
    def task_name(self) -> str:
        """The task that the file's name tells: the id of a trajectory that has none of its own."""
        return self._names.task(self.path)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels of the task that the file's name tells."""
        return self._names.labels(self.path) if self._names.label_names else {}

    def open(self) -> BinaryIO:
        """The bytes from the beginning, for formats that are not JSON."""
        return self._file.open()

    def beside(self, *parents: str) -> Any:
        """The value of a JSON file of `LOOKED_UP`, by its path from this file; None where there is none."""
        path = self._path_beside(parents)
        try:
            with self._file.open_beside(path) as stream:
                data = stream.read(MAX_BESIDE_BYTES + 1)
            return json_value(data) if len(data) <= MAX_BESIDE_BYTES else None
        except (OSError, ValueError, FormatError):
            return None

    def is_beside(self, *parents: str) -> bool:
        """Whether there is a file at this path from this file."""
        path = self._path_beside(parents)
        return path in self._file.others or Path(path).is_file()

    def _path_beside(self, parents: tuple[str, ...]) -> str:
        path = os.path.normpath(Path(self.path).parent.joinpath(*parents))
        self.looked_for.append(path)
        return path

    def note(self, text: str, place: str = "") -> None:
        """Say what was not read."""
        if len(self.notes) == MAX_NOTES:
            self.notes.append(f"{self.path}: more of this kind is not listed")
        elif len(self.notes) < MAX_NOTES:
            self.notes.append(": ".join(part for part in (self.path, place, text) if part))

    def lose(self, text: str, place: str) -> None:
        """Say of records that they could not be read."""
        self.lost += 1
        self.note(text, place)

    def leave(self, element: Element) -> None:
        """Leave a record that is not of this format to other readers."""
        self.left.append(element.place)

    @cached_property
    def head(self) -> Head:
        """The first kilobytes."""
        with self.open() as stream:
            return head_of(self.path, stream.read(HEAD_BYTES), self._file.members)

    @cached_property
    def shape(self) -> Literal["array", "object", "lines"]:
        """`array`: a list of records; `object`: one record, records by id, or under a container key; `lines`: JSONL."""
        with self.open() as stream:
            lines = (line for line in _lines_of(stream) if not line.isspace())
            first = next(lines, b"").lstrip()
            if first[:1] == b"[":
                return "array"
            more = any(True for _ in lines)
        return "lines" if more and (len(first) > MAX_LINE_BYTES or _is_whole(first)) else "object"

    def check_is_json(self) -> None:
        """Check that the file begins as JSON does.

        Raises:
            FormatError: it is empty or something else.
        """
        beginning = self.head.data.decode("utf-8-sig", "replace")
        start = _skip(beginning, 0)
        if start == len(beginning):
            raise FormatError(self.path, "the file is empty; expected JSON or JSON Lines with trajectories")
        if self.head.data.startswith((ZIP, GZIP)) or is_tar(self.head.data):
            raise FormatError(self.path, IN_AN_ARCHIVE)
        if beginning[start] not in "[{":
            found = f"expected JSON ('{{' or '['), found {beginning[start : start + 20]!r}"
            raise UnknownFormatError(self.path, found, _line_and_column(beginning, start))

    def records(self) -> Iterator[Element]:
        """The records as they stand at the top of the file: the lines of JSON Lines, the elements of a list, or the
        one object; of several values one after the other each one's.

        Raises:
            FormatError: broken JSON, with line and column.
        """
        return self._wanted(open_containers=False)

    def objects(self, is_own: Callable[[JsonObject], bool] = lambda record: True) -> Iterator[Element]:
        """The `records` that are objects of the reader's format; the others are left to other readers."""
        for element in self.records():
            if isinstance(element.value, dict) and is_own(element.value):
                yield element
            else:
                self.leave(element)

    def elements(self) -> Iterator[Element]:
        """As `records`, and where the file is one object, the records in it by id or under a container key.

        Raises:
            FormatError: broken JSON, with line and column.
        """
        return self._wanted(open_containers=True)

    def _wanted(self, *, open_containers: bool) -> Iterator[Element]:
        elements = self._lines() if self.shape == "lines" else self._values(open_containers=open_containers)
        return elements if self._only is None else (item for item in elements if item.place in self._only)

    def _lines(self) -> Iterator[Element]:
        """The lines that are JSON; a broken one is noted, and the last one, still being written, is not."""
        broken: tuple[int, str] | None = None
        with self.open() as stream:
            for number, line in enumerate(_lines_of(stream), 1):
                if line.isspace():
                    continue
                if broken:
                    self.lose(f"broken JSON, this line was not read: {broken[1]}", f"line {broken[0]}")
                    broken = None
                if len(line) > MAX_LINE_BYTES:
                    self.lose(f"a line of more than {MAX_LINE_BYTES // 1024**2} MB; not read", f"line {number}")
                    continue
                try:
                    value = json_value(line)
                except ValueError as error:
                    not_text = isinstance(error, UnicodeDecodeError)
                    broken = (number, "not UTF-8 text" if not_text else str(error).replace(" at line 1 ", " at "))
                    continue
                yield Element(f"line {number}", None, value)
        if broken:
            self.note(
                "the last line is not whole (still being written?); everything before it was read", f"line {broken[0]}"
            )

    def _values(self, *, open_containers: bool) -> Iterator[Element]:
        """The records of the one value that the file is."""
        if self._file.size() < HEAD_BYTES and self.head.whole is not None:
            yield from _records_in(self.head.whole, "$", open_containers=open_containers)
            return
        with self.open() as stream:
            if stream.seek(0, os.SEEK_END) > MAX_VALUE_BYTES:
                size = f"{MAX_VALUE_BYTES // 1024**2:,} MB"
                raise FormatError(self.path, f"one JSON value of more than {size}; JSON Lines are read line by line")
            stream.seek(0)
            data = stream.read().removeprefix(_BOM)
        try:
            value = json_value(data)
        except ValueError:  # several values, or broken
            text = self._text(data)
            del data
            yield from self._one_by_one(text, open_containers=open_containers)
            return
        yield from _records_in(value, "$", open_containers=open_containers)

    def _text(self, data: bytes) -> str:
        try:
            return with_whole_pairs(data.decode())
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise FormatError(self.path, f"not UTF-8 text (byte 0x{data[error.start]:02x})", f"line {line}") from None

    def _one_by_one(self, text: str, *, open_containers: bool) -> Iterator[Element]:
        """The records of the values that stand in the file one after the other, as far as it is whole."""
        position, number = _skip(text, 0), 0
        while position < len(text):
            place = f"value {number + 1}: $" if number else "$"
            if text[position] not in "[{" and number:
                found = repr(text[position : position + 20])
                self.lose(f"{found} and what follows is not JSON; not read", f"line {_line(text, position)}")
                return
            try:
                value, end = first_json(text, position)
            except TooDeepError:
                raise FormatError(self.path, TOO_DEEP) from None
            except json.JSONDecodeError as error:
                broken = self._broken(text, error)
                records = list(_records_before_break(text, position, place)) if open_containers else []
                if not records:
                    raise broken from None
                yield from records
                self.lose(f"{broken.message}; from here on nothing was read", broken.place)
                return
            yield from _records_in(value, place, open_containers=open_containers)
            position, number = _skip(text, end), number + 1

    def _broken(self, text: str, error: json.JSONDecodeError) -> FormatError:
        if text.startswith(("//", "/*"), error.pos):
            message = "JSON with comments, as settings have them; expected a recording"
            return UnknownFormatError(self.path, message, _line_and_column(text, error.pos))
        return FormatError(self.path, f"broken JSON: {_what_is_wrong(text, error)}", _line_and_column(text, error.pos))


def _what_is_wrong(text: str, error: json.JSONDecodeError) -> str:
    """Such as `expected ',' delimiter, found 'x'`, in place of the decoder's `Expecting ',' delimiter`."""
    shown = repr(text[error.pos : error.pos + 20])
    problem, expecting, expected = error.msg.partition("Expecting ")
    if expecting:
        found = f"found {shown}" if text[error.pos :].strip() else "but the file ends here"
        return f"expected {'a value' if expected == 'value' else expected}, {found}"
    problem = problem.removesuffix(" at").removesuffix(" starting")
    return f"{problem[:1].lower()}{problem[1:]}: {shown}"


def _records_in(value: Any, place: str, *, open_containers: bool) -> Iterator[Element]:
    if isinstance(value, list) or (open_containers and isinstance(value, dict)):
        return opened_value(value, place)
    return iter([Element(place, None, value)])


def _records_before_break(text: str, start: int, place: str) -> Iterator[Element]:
    """Of an object that is broken or cut off: the records in the lists under its container keys, up to the break."""
    position = start + 1
    try:
        while True:
            key, end = first_json(text, _skip(text, position))
            position = _skip(text, text.index(":", end) + 1)
            if key in CONTAINER_KEYS and text[position] == "[":
                index = 0
                while text[position] in "[,":
                    value, end = first_json(text, _skip(text, position + 1))
                    yield Element(f"{place}.{key}[{index}]", None, value)
                    position, index = _skip(text, end), index + 1
                position += 1
            else:
                _, position = first_json(text, position)
            position = text.index(",", position) + 1
    except (ValueError, IndexError):
        return


def _lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, ended by a line feed and nothing else: JSON strings may hold any other separator.

    A line that is longer than is read comes as its beginning, which is one byte too long.
    """
    prefix = _BOM
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line.removeprefix(prefix)
        prefix = b""
        piece = line if len(line) > MAX_LINE_BYTES else b"\n"
        while piece and not piece.endswith(b"\n"):
            piece = stream.readline(_PIECE_BYTES)


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json_value(line), dict)
    except TooDeepError:
        return line.rstrip().endswith(b"}")
    except ValueError:
        return False


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _line_and_column(text: str, position: int) -> str:
    return f"line {_line(text, position)}, column {position - text.rfind(chr(10), 0, position)}"


@dataclass(frozen=True)
class Match:
    """How sure a reader is that a file is of its format."""

    certainty: float
    """From 0 (not mine) to 1 (a stamp says so). Below 0.5 the user is told of the doubt; 0.9 is a shape that no other
    format has; 0.6 one that is usual in this format but might be another's."""
    why: str = ""
    """What was seen, in a few words: `lines with "sessionId" and "message"`."""


NO_MATCH = Match(0.0)

READER_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a reader may trip over in a file that is not what it seemed: an error of that file, which ends no run."""


class Reader(Protocol):
    """Reads one format."""

    name: str
    """As `--list` and `source.format` show it: `claude-code`."""
    title: str
    """For people: `Claude Code sessions`."""
    expected_shape: str
    """What it takes to recognise the format, in words, for the message about a file of an unknown format."""

    def sniff(self, head: Head) -> Match:
        """How sure it is that the file is of this format, from its first kilobytes. Never raises."""

    def trajectories(self, document: Document) -> Iterator[Trajectory]:
        """The trajectories, one after the other, in the order of the file, duplicates and all.

        It is called twice on one file (to look it through, then to read it) and gives the same both times. What it
        does not read it says: `document.leave(element)` for a record that is not of this format (another reader may
        have it), `document.note(...)` for anything else. A file without calls is a trajectory without steps.

        Raises:
            FormatError: something that is not what the format says, so that reading on would be guessing.
        """
