"""What the command and its workers send each other, and how it answers them: settings, leases, parts of files.

The command alone writes the run file, and grants each call with effects once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, Protocol

from replay.errors import ReplayError
from replay.formats.results_file import FileSummary, UnopenedFile
from replay.outcomes import Registry
from replay.records import Answer, CallResult, FleetFacts, RuleSpec, Server
from replay.replayer.plan import Options
from replay.runfile import Run
from replay.runfile.effects_journal import EffectKey, Origin, SentCall
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


@dataclass
class _Held:
    """A lease that is given out."""

    attempt: int
    origin: Origin
    owner: str | None = None
    sent: dict[EffectKey, SentCall] = field(default_factory=dict)
    """Calls that were granted, as they stand in the journal."""
    counted: int = 0
    """Calls that count as done so far."""


class WorkerRequests:
    """Answers the workers of a run.

    Args:
        run: open for writing.
        settings: of the run.
        stored: looks stored answers up.
        on_calls: told by which worker how many calls were judged.
        on_rows: takes what was judged of a file.
    """

    def __init__(
        self,
        run: Run,
        settings: Settings,
        *,
        stored: Callable[[str], Answer | None],
        on_calls: Callable[[str, int], None] = lambda worker, calls: None,
        on_rows: Callable[[JudgedRows], None] = lambda judged: None,
    ) -> None:
        self._run, self._settings, self._stored = run, settings, stored
        self._on_calls, self._on_rows = on_calls, on_rows
        self._held: dict[int, _Held] = {}

    def give_out(self, row: int, attempt: int, origin: Origin) -> None:
        """A lease goes to a worker; what an earlier one of the same trajectory granted stays noted."""
        before = self._held.get(row)
        self._held[row] = _Held(attempt, origin, sent=before.sent if before else {})

    def counted(self, row: int) -> int:
        """Calls of a trajectory that its worker told of already."""
        held = self._held.get(row)
        return held.counted if held else 0

    def take_back(self, row: int) -> None:
        """The trajectory is done: nothing more is granted for it."""
        self._held.pop(row, None)

    def handle(self, kind: str, content: Any) -> Any:
        """What to answer to a message.

        Raises:
            LeaseLostError: it asks for a call that the worker may not send.
        """
        if kind == "settings":
            return self._settings
        if kind == "stored":
            return self._stored(content)
        if kind == "claim":
            self._grant(content)
        elif kind == "answer":
            self.keep_answer(*content)
        elif kind == "calls":
            self._count(*content)
        elif kind in ("opened", "rows"):
            self._on_rows(content)
        return None

    def _grant(self, claim: Claim) -> None:
        """Note a call before it is sent."""
        held = self._held.get(claim.row)
        if held is None or held.attempt != claim.attempt or held.owner not in (None, claim.owner):
            raise LeaseLostError("the trajectory was given to another worker")
        held.owner = claim.owner
        try:
            held.sent[claim.key] = SentCall(row=self._run.journal().note(held.origin, claim.key))
        except sqlite3.IntegrityError:
            raise LeaseLostError("the call was sent before") from None

    def _count(self, worker: str, row: int, attempt: int, calls: int) -> None:
        held = self._held.get(row)
        if held is not None and held.attempt == attempt:
            held.counted += calls
            self._on_calls(worker, calls)

    def keep_answer(self, row: int, key: EffectKey, sent: SentCall) -> None:
        """Keep what a granted call got; what its server wrote to stderr may follow with the answer once more."""
        held = self._held.get(row)
        known = held.sent.get(key) if held else None
        if held is None or known is None or sent.answer is None or known[:2] == sent[:2]:
            return
        held.sent[key] = known._replace(answer=sent.answer, stderr=sent.stderr)
        self._run.journal().keep(known.row, sent.answer, sent.stderr)
