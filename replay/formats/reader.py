"""The protocol of a reader: one file of this package for each format, listed in `READERS`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from replay.formats.document import Document, Head
from replay.records import Trajectory


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
