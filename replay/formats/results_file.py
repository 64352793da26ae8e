"""A results file that was looked through once: which trajectories it holds, and how it is read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple, TypeVar, cast

from replay.errors import FormatError, NoTrajectoryError, TooOldError, UnknownFormatError
from replay.formats.claude_code import ClaudeCodeReader
from replay.formats.document import HEAD_BYTES, MAX_HEAD_RECORDS, READER_FAULTS, Document, Head, Reader, head_of
from replay.formats.file_names import FileNames
from replay.formats.readers import finding, product_of, signs_of_calls, surest_reader
from replay.formats.sources import InputFile
from replay.formats.task_facts import run_beside
from replay.json_values import TOO_DEEP, begun_json, bounded, first_json, is_too_deep, json_text
from replay.records import Call, Record, Trajectory, digest
from replay.records.time_span import utc
from replay.records.tool_name import with_calls, without_dispatcher

MAX_BROKEN_BYTES = 64_000_000
"""So much of a broken file is looked at, to tell what it may hold."""
MAX_SEARCHED_BYTES = 8 * 1024 * 1024
"""So much of a file without calls is searched for what speaks of them."""
MAX_HELD = 8
"""Trajectories of a compressed file, whose size tells little, that are held from looking it through to reading it."""
MAX_HELD_BYTES = 32_000_000
"""Of files that are held so, together."""

_T = TypeVar("_T")
_R = TypeVar("_R", bound=Record)


class Room:
    """How many bytes of files may still be held from looking them through to reading them: those are read once."""

    def __init__(self) -> None:
        self.left = MAX_HELD_BYTES


@dataclass(frozen=True, slots=True)
class Part:
    """The records of a file that one reader reads: all of them, but where formats are mixed."""

    reader: Reader
    why: str
    only: frozenset[str] | None


class _Slot(NamedTuple):
    """What is kept of a trajectory when its file is looked through."""

    id: str
    model: str
    calls: int
    unanswered: int
    last: str | None
    """When its last call began, in UTC; None where it has no times."""
    call_ids: tuple[str, ...]
    """Of a session's calls, which another file may repeat; "" for one that has none. None for other trajectories."""


class UnopenedFile(NamedTuple):
    """A file that may be a results file, and how it is read."""

    file: InputFile
    names: FileNames
    since: str = ""
    """The time, as `utc` writes it, since which something must have happened in it; "" for any."""


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What looking a file through told of it."""

    path: str
    model: str
    """Of the first trajectory; `models` has them all."""
    format: str
    """Of the reader; where formats are mixed, their names joined by `+`."""
    ids: tuple[str, ...]
    """Of the trajectories, in the order of the file; of duplicates only the last one stands."""
    models: tuple[str, ...]
    call_counts: tuple[int, ...]
    """Model and calls of each trajectory, in the order of `ids`."""
    warnings: tuple[str, ...]
    """Doubts about the format, duplicates, and what was not read."""
    signs: tuple[str, ...]
    """Where no call was read: the names in it that speak of calls all the same."""
    lost: int
    """Places where records could not be read."""
    beside: tuple[str, ...] = ()
    """Paths of the files beside it that were looked for to read it."""
    last: str | None = None
    """When the last call of all began, in UTC; None where not every trajectory has times."""
    call_ids: tuple[str, ...] = ()
    """Of each call, in the order of `ids`, where they are sessions that an agent may go on with in another file."""

    @property
    def calls(self) -> int:
        """Of all its trajectories."""
        return sum(self.call_counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile(FileSummary):
    """A results file that was looked through once. Its trajectories are read again, one at a time, when asked for.

    A run may have a hundred thousand of them at once, so each holds little.
    """

    why: str
    """By what the format was recognised."""
    unanswered: int
    """Calls without a recorded answer."""
    source: UnopenedFile
    """What was looked through."""
    _parts: tuple[Part, ...]
    _kept: frozenset[int] | None
    """Numbers of the trajectories that stand; None where all do."""
    _size: int
    _held: list[Trajectory]
    """What was read to look it through, handed out once."""
    _room: Room

    @property
    def summary(self) -> FileSummary:
        """What another process must be told of it."""
        return FileSummary(*(getattr(self, field.name) for field in fields(FileSummary)))

    def trajectories(self) -> Iterator[Trajectory]:
        """Read the trajectories, in the order of the file.

        Raises:
            FormatError: the file changed since it was opened.
        """
        file = self.source.file
        if file.size() != self._size:
            raise FormatError(self.path, "the file changed while it was being read; run the command again")
        if self._held:
            held = list(self._held)
            self._held.clear()
            self._room.left += self._size
            yield from held
            return
        documents = ((part.reader, Document(file, self.source.names, part.only)) for part in self._parts)
        every = (trajectory for reader, document in documents for trajectory in _guarded(reader, document))
        yield from _standing(every, self._kept)


def _standing(items: Iterable[_T], kept: frozenset[int] | None) -> Iterator[_T]:
    """Of the trajectories of a file, or what is known of each, those that stand."""
    return (item for number, item in enumerate(items) if kept is None or number in kept)


def _prepared(trajectory: Trajectory, labels: dict[str, str]) -> Trajectory:
    """The trajectory with a dispatcher's call as the call that it carries, within the limits of what is held."""
    prepared = _within_limits(with_calls(trajectory, without_dispatcher))
    if not labels:
        return prepared
    task = prepared.task.model_copy(update={"labels": (prepared.task.labels or {}) | labels})
    return prepared.model_copy(update={"task": task})


def _within_limits(record: _R) -> _R:
    """A trajectory, or a record in it, without what is nested too deeply; the same object where all is well.

    Arguments that are nested too deeply cannot be sent as they were recorded: they count as not read, and stand in
    `raw`. Whatever else holds JSON of others is kept as far as everything behind the readers can hold it.
    """
    changes = {}
    for name, value in record:
        kept = _kept(value)
        if kept is not value:
            changes[name] = kept
    if isinstance(record, Call) and "arguments" in changes and is_too_deep(record.arguments):
        raw = json_text(record.arguments)
        changes |= {"arguments": None, "unreadable": record.unreadable or "arguments", "raw": raw}
    return record.model_copy(update=changes) if changes else record


def _kept(value: Any) -> Any:
    if isinstance(value, Record):
        return _within_limits(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        kept = tuple(map(_within_limits, value))
        return kept if any(new is not old for new, old in zip(kept, value, strict=True)) else value
    return bounded(value) if isinstance(value, dict | list | tuple) else value


def _guarded(reader: Reader, document: Document) -> Iterator[Trajectory]:
    """The trajectories; whatever a reader trips over is an error of its file and ends no run."""
    try:
        for trajectory in reader.trajectories(document):
            yield _prepared(trajectory, document.labels)
    except RecursionError:
        raise FormatError(document.path, TOO_DEEP) from None
    except READER_FAULTS as error:
        what = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
        raise FormatError(document.path, f"cannot be read as {reader.title} ({what})") from error


def look_through(file: InputFile, names: FileNames, since: str = "", room: Room | None = None) -> ResultsFile:
    """Find out a file's format and which trajectories it holds.

    Args:
        file: to be read.
        names: how its name gives model and task.
        since: as in `UnopenedFile`.
        room: for what is held, so that the file need not be read again. Without it the file is read next: there is
            enough for a usual file, and for one that is a single trajectory, whatever its size.

    Raises:
        FormatError: no reader knows it, it is broken, it holds no trajectory, or nothing happened since.
    """
    steps = looking_through(file, names, since, room)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("ResultsFile", end.value)


def looking_through(
    file: InputFile, names: FileNames, since: str = "", room: Room | None = None
) -> Generator[None, None, ResultsFile]:
    """The same in steps of one trajectory, for who has something else to do between them."""
    alone, room, size = room is None, room or Room(), file.size()
    _check_age(file, since, file.modified())
    slots, held, parts = list[_Slot](), list[Trajectory](), list[Part]()
    warnings, beside, lost = list[str](), list[str](), 0
    only: frozenset[str] | None = None
    while True:
        document = Document(file, names, only)
        reader, why, doubt = _reader_of(document, first=not parts)
        if reader is None:
            warnings.append(f"{file.path}: {len(only or ())} records of no known format were not read: {_some(only)}")
            break
        warnings += filter(None, [doubt])
        for trajectory in _guarded(reader, document):
            slots.append(_slot(trajectory))
            few = file.is_plain or len(slots) <= MAX_HELD
            _hold(held, trajectory, fits=(size <= room.left and few) or (alone and len(slots) == 1))
            yield
        parts.append(Part(reader, why, only))
        warnings += document.notes
        lost += document.lost
        beside += document.looked_for
        before, only = only, frozenset(document.left)
        if not only or only == before:
            break
    title = parts[0].reader.title
    if not slots:
        raise NoTrajectoryError(file.path, f"{title}, but it holds no trajectory")
    last = _last_moment(slots)
    _check_age(file, since, last)
    signs, doubt = ((), None) if any(slot.calls for slot in slots) else _signs(document, title)
    kept = _last_of_each_id(slots)
    standing = list(_standing(slots, kept))
    held = list(_standing(held, kept)) if len(held) == len(slots) else []
    room.left -= size if held else 0
    return ResultsFile(
        path=file.path,
        model=standing[0].model,
        format="+".join(dict.fromkeys(part.reader.name for part in parts)),
        ids=tuple(slot.id for slot in standing),
        models=tuple(slot.model for slot in standing),
        call_counts=tuple(slot.calls for slot in standing),
        warnings=(*dict.fromkeys([*warnings, *filter(None, [doubt])]), *_duplicates(file.path, slots)),
        signs=signs,
        lost=lost,
        beside=tuple(dict.fromkeys(beside)),
        last=last,
        call_ids=_call_ids(standing),
        why="; ".join(dict.fromkeys(part.why for part in parts)),
        unanswered=sum(slot.unanswered for slot in standing),
        source=UnopenedFile(file, names),
        _parts=tuple(parts),
        _kept=kept,
        _size=size,
        _held=held,
        _room=room,
    )


def _hold(held: list[Trajectory], trajectory: Trajectory, *, fits: bool) -> None:
    """Keep a trajectory in memory where it fits; else let go of those before it."""
    if fits:
        held.append(trajectory)
    else:
        held.clear()


def _last_moment(slots: Sequence[_Slot]) -> str | None:
    """The latest of the trajectories' last moments; None where one of them tells none."""
    moments = [slot.last for slot in slots if slot.last is not None]
    return max(moments) if len(moments) == len(slots) else None


def _call_ids(slots: Sequence[_Slot]) -> tuple[str, ...]:
    """Of all calls, in their order; none where no trajectory is a session's."""
    if not any(slot.call_ids for slot in slots):
        return ()
    return tuple(identifier for slot in slots for identifier in slot.call_ids or ("",) * slot.calls)


def _last_of_each_id(slots: Sequence[_Slot]) -> frozenset[int] | None:
    """The numbers of the last trajectory of each id; None where each id has one."""
    last = {slot.id: number for number, slot in enumerate(slots)}
    return None if len(last) == len(slots) else frozenset(last.values())


def _signs(document: Document, title: str) -> tuple[tuple[str, ...], str | None]:
    """Of a file in which no call was found: what in it speaks of calls all the same, and what to tell of it."""
    head = document.head
    if len(head.data) == HEAD_BYTES:
        with document.open() as stream:
            head = head_of(document.path, stream.read(MAX_SEARCHED_BYTES))
    signs, product = signs_of_calls(head.records), product_of((*head.records, *head.elements))
    signs = signs or ((product,) if product else ())
    return signs, finding(document.path, title, signs, product) if signs else None


def read_up_to_break(source: UnopenedFile) -> FileSummary | None:
    """What a broken file holds in front of the place where it breaks; None where nothing tells, or there is no call."""
    try:
        with source.file.open() as stream:
            text = stream.read(MAX_BROKEN_BYTES).decode("utf-8-sig", "ignore").lstrip()
        try:
            first_json(text, 0)
        except json.JSONDecodeError as error:
            text = text[: error.pos]
        whole = json.dumps(begun_json(text)).encode()
        begun = replace(source.file, open=partial(BytesIO, whole), size=lambda: len(whole))
        found = look_through(begun, source.names).summary
    except (FormatError, ValueError, RecursionError):
        return None
    return found if found.calls else None


def _reader_of(document: Document, *, first: bool) -> tuple[Reader | None, str, str | None]:
    """The surest reader of a document, by its first kilobytes, and by its first whole records where those do not do."""
    head = document.head
    if first and not head.members:
        document.check_is_json()
        if head.whole is not None and not head.elements and not (head.whole == [] and run_beside(document)):
            raise UnknownFormatError(document.path, "an empty list; expected at least one trajectory")
    try:
        reader, match, doubt = surest_reader(head if first else _whole_head(document))
    except FormatError:
        if not first:
            return None, "", None
        if head.members:
            raise
        reader, match, doubt = surest_reader(_whole_head(document))  # where it is broken, that is what to say
    return reader, match.why, doubt


def _whole_head(document: Document) -> Head:
    values = (element.value for element in document.records())
    return Head(document.path, document.head.data, tuple(islice(values, MAX_HEAD_RECORDS)))


def _slot(trajectory: Trajectory) -> _Slot:
    calls = list(trajectory.calls())
    unanswered = [call for call in calls if call.answer is None]
    last = utc(trajectory.started_at, max([call.started or 0 for call in calls], default=0))
    ids = tuple(_key(trajectory, call) for call in calls) if trajectory.source.format == ClaudeCodeReader.name else ()
    return _Slot(trajectory.id, trajectory.model, len(calls), len(unanswered), last, ids)


def _key(trajectory: Trajectory, call: Call) -> str:
    """What a call has in common with its copy in another file: its id, and when it began."""
    return digest([call.id, utc(trajectory.started_at, call.started or 0)])[:16] if call.id else ""


def _check_age(file: InputFile, since: str, last: str | None) -> None:
    if since and last is not None and last < since:
        raise TooOldError(file.path, f"nothing happened in it since {since}")


def _some(places: frozenset[str] | None) -> str:
    shown = sorted(places or (), key=lambda place: (len(place), place))
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")


def _duplicates(path: str, slots: list[_Slot]) -> Iterator[str]:
    counts = Counter(slot.id for slot in slots)
    duplicates = [identifier for identifier, count in counts.items() if count > 1]
    if duplicates:
        yield f"{path}: {len(duplicates)} duplicate ids, the last one stands: {', '.join(duplicates)}"
