"""What the command and its workers send each other: settings, leases, parts of files, and what was judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, Protocol

from replay.errors import ReplayError
from replay.formats.results_file import FileSummary, UnopenedFile
from replay.outcomes import Registry
from replay.records import CallResult, FleetFacts, RuleSpec, Server
from replay.replayer.plan import Options
from replay.runfile import Run
from replay.runfile.effects_journal import EffectKey, SentCall
from replay.runfile.shipped_rows import ShippedRows


class Finder(Protocol):
    """Finds what a trajectory shows, and keeps it in a run."""

    def keep(self, row: int) -> None:
        """Find what the trajectory of a row shows."""


@dataclass(frozen=True)
class Settings:
    """What a worker judges by; it asks for them once a run."""

    options: Options
    facts: FleetFacts
    dispatchers: tuple[str, ...]
    policy: str
    secrets: tuple[str, ...]
    """What is taken out of all that is written, beside what the worker's own environment holds."""
    rules: Mapping[str, tuple[RuleSpec, ...]]
    registry: Registry | None = None
    """The tools that exist; None where the worker's own servers tell."""
    stored_answers: bool = False
    """Whether the command has answers to look up."""
    fleet: Mapping[str, Any] | None = None
    """The fleet file's content, its variables not filled in: the worker starts the servers. None offline."""
    names: tuple[str, ...] = ()
    """The servers to start."""
    logs: str | None = None
    """Directory for the servers' stderr; None where the worker shares no disk: it makes one of its own."""
    finder: Callable[[Run], Finder] | None = None
    """Makes what finds what trajectories show."""


@dataclass(frozen=True)
class Lease:
    """The right to send the calls of one trajectory; a new one is given out when a worker is lost."""

    row: int
    """Of the trajectory in the run file."""
    attempt: int
    results: Mapping[str, CallResult] = field(default_factory=dict)
    """Calls that an earlier run finished."""
    sent: Mapping[EffectKey, SentCall] = field(default_factory=dict)
    """Calls with effects that were sent before, with what they got where that is known."""


class Claim(NamedTuple):
    """A worker's request to send a call with effects."""

    row: int
    attempt: int
    owner: str
    """Tells this execution from another one of the same lease."""
    key: EffectKey


@dataclass(frozen=True)
class Replayed:
    """What became of a trajectory whose calls were sent."""

    rows: ShippedRows
    not_repeated: int
    answers: tuple[tuple[EffectKey, SentCall], ...]
    """What calls with effects got, where the message with it should be late."""
    lacking: tuple[str, ...]
    """Servers that the worker could not start."""


@dataclass(frozen=True)
class FilePart:
    """A file to read and judge: all its trajectories, or every `parts`-th of a large one."""

    source: UnopenedFile
    size: int
    part: int = 0
    parts: int = 1
    done: frozenset[int] = frozenset()
    """Numbers of the trajectories that were judged already."""
    one_by_one: bool = False
    """Whether each is sent at once: a worker was lost with this file."""


class JudgedRows(NamedTuple):
    """Trajectories of a file, each with its number in it."""

    worker: str
    summary: FileSummary
    rows: tuple[tuple[int, ShippedRows], ...]


class WorkerReport(NamedTuple):
    """What a worker says of its servers when they are started."""

    worker: str
    servers: tuple[Server, ...] = ()
    notes: tuple[str, ...] = ()


class LeaseLostError(ReplayError):
    """Another worker was given the trajectory, since this one was held for lost."""


class NotHereError(ReplayError):
    """The file is not on this worker's disk, or is another one there."""


def sendable(source: UnopenedFile, *, by_path: bool = True) -> UnopenedFile:
    """The file as a worker gets it: its path where it can be opened by that, else its bytes and those of its siblings.

    Raises:
        FormatError: it cannot be read.
    """
    file = source.file
    if by_path and file.place is not None:
        return source
    data = _bytes_of(file.open)
    others = {path: partial(BytesIO, _bytes_of(opened)) for path, opened in file.siblings.items()}
    return source._replace(file=replace(file, open=partial(BytesIO, data), size=partial(len, data), others=others))


def _bytes_of(opened: Callable[[], BinaryIO]) -> bytes:
    with opened() as stream:
        return stream.read()
