"""The protocol of a reader: one for each results format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from replay.formats.file_names import FileNames
from replay.formats.json_document import Element, JsonDocument
from replay.records import Trajectory


@dataclass(frozen=True)
class Slot:
    """Where one trajectory stands in its file, before it is read."""

    id: str
    start: int
    """Offset of its element; meaningless where the whole file is one trajectory."""
    place: str
    key: str | None
    calls: int


class Reader(Protocol):
    """Reads one format. To add a format: write one of these and list it in `READERS`."""

    name: str
    expected_shape: str
    """What it takes to recognise the format, in words, for the message about a file of an unknown format."""

    def sniff(self, first: Element, document: JsonDocument) -> bool:
        """Whether the file is of this format, from its first element."""

    def slots(self, document: JsonDocument, names: FileNames) -> Iterator[Slot]:
        """The trajectories of the file, duplicates and all, without keeping them.

        Raises:
            FormatError: an element that is not what the format says.
        """

    def read(self, document: JsonDocument, slot: Slot, names: FileNames) -> Trajectory:
        """The trajectory in a slot."""
