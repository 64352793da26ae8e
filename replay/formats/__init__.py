"""One reader a raw results format; `sniff` picks; everything becomes a Trajectory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from replay.errors import FormatError
from replay.formats.dagfile import DagFileReader
from replay.formats.file_names import FileNames
from replay.formats.json_document import JsonDocument, read_document
from replay.formats.limits import within_limits
from replay.formats.m3bench import M3BenchReader
from replay.formats.openai_chat import OpenAIChatReader
from replay.formats.reader import Reader, Slot
from replay.records import Trajectory

__all__ = ["READERS", "FileNames", "Reader", "ResultsFile", "open_file", "open_files"]

READERS: tuple[Reader, ...] = (DagFileReader(), OpenAIChatReader(), M3BenchReader())
"""In the order in which they sniff at a file."""


@dataclass(frozen=True)
class ResultsFile:
    """A results file that was looked through once. Its trajectories are read again, one at a time, when asked for."""

    path: str
    model: str
    format: str
    calls: int
    ids: tuple[str, ...]
    """Of the trajectories, in the order of the file; of duplicates only the last one stands."""
    warnings: tuple[str, ...]
    _reader: Reader
    _slots: tuple[Slot, ...]
    _names: FileNames
    _size: int

    @property
    def call_counts(self) -> tuple[int, ...]:
        """Calls of each trajectory, in the order of `ids`."""
        return tuple(slot.calls for slot in self._slots)

    def trajectories(self) -> Iterator[Trajectory]:
        """Read the trajectories, in the order of the file.

        Raises:
            FormatError: the file changed since it was opened.
        """
        document = read_document(Path(self.path))
        if len(document.text) != self._size:
            raise FormatError(self.path, "the file changed while it was being read; run the command again")
        for slot in self._slots:
            yield within_limits(self._reader.read(document, slot, self._names))


def open_file(path: str | Path, names: FileNames | None = None) -> ResultsFile:
    """Find out a file's format and which trajectories it holds.

    Raises:
        FormatError: no reader knows it, it is broken, or it holds no trajectory.
    """
    names = names or FileNames()
    document = read_document(Path(path))
    reader = sniff(document)
    slots = tuple(reader.slots(document, names))
    kept = tuple({slot.id: slot for slot in slots}.values())
    return ResultsFile(
        path=document.path,
        model=reader.read(document, kept[0], names).model,
        format=reader.name,
        calls=sum(slot.calls for slot in kept),
        ids=tuple(slot.id for slot in kept),
        warnings=tuple(_duplicates(document.path, slots)),
        _reader=reader,
        _slots=kept,
        _names=names,
        _size=len(document.text),
    )


def open_files(
    paths: Iterable[str | Path], names: FileNames | None = None, on_error: Callable[[FormatError], None] | None = None
) -> Iterator[ResultsFile]:
    """Open several files; one that cannot be read goes to `on_error` and the others go on.

    Raises:
        FormatError: where there is no `on_error`.
    """
    for path in paths:
        try:
            yield open_file(path, names)
        except FormatError as error:
            if on_error is None:
                raise
            on_error(error)


def sniff(document: JsonDocument) -> Reader:
    """The reader of a document, by its content.

    Raises:
        FormatError: no reader knows it.
    """
    first = next(document.elements(), None)
    if first is None:
        raise FormatError(document.path, "an empty list; expected at least one trajectory")
    for reader in READERS:
        if reader.sniff(first, document):
            return reader
    looked_for = "; ".join(reader.expected_shape for reader in READERS)
    raise FormatError(document.path, f"unknown shape: {_describe(first.value)}. Looked for: {looked_for}", first.place)


def _describe(value: object) -> str:
    if isinstance(value, dict):
        keys = ", ".join(map(repr, list(value)[:8]))
        return f"an object with the keys {keys}" if value else "an empty object"
    return f"a {type(value).__name__}"


def _duplicates(path: str, slots: tuple[Slot, ...]) -> Iterator[str]:
    counts = Counter(slot.id for slot in slots)
    duplicates = [identifier for identifier, count in counts.items() if count > 1]
    if duplicates:
        yield f"{path}: {len(duplicates)} duplicate ids, the last one stands: {', '.join(duplicates)}"
