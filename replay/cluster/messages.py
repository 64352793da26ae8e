"""What the command and its workers send each other. All of it is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from replay.formats import HowToRead
from replay.outcomes import Registry
from replay.records import Answer, CallResult, FleetFacts, RuleSpec, Server, Trajectory
from replay.records.effects import EffectKey
from replay.replayer.plan import Options
from replay.runfile.shipped_rows import ShippedRows


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


class Sent(NamedTuple):
    """A call with effects that was sent."""

    answer: Answer | None = None
    """None where it is not known what came of it."""
    stderr: str = ""
    """What its server wrote to stderr meanwhile."""


@dataclass(frozen=True)
class Lease:
    """The right to send the calls of one trajectory; a new one is given out when a worker is lost."""

    row: int
    """Of the trajectory in the run file."""
    attempt: int
    results: Mapping[str, CallResult] = field(default_factory=dict)
    """Calls that an earlier run finished."""
    sent: Mapping[EffectKey, Sent] = field(default_factory=dict)
    """Calls with effects that were sent before, with what they got where that is known."""


@dataclass(frozen=True)
class FromFile:
    """Trajectories that the worker reads itself."""

    path: str
    """Absolute."""
    how: HowToRead
    first: int
    """Number of the first one among those of the file."""
    count: int


@dataclass(frozen=True)
class Unit:
    """What one task judges."""

    run: str
    """Tells this run of the command from others on the same workers."""
    work: tuple[FromFile | Trajectory, ...]
    leases: tuple[Lease, ...]
    """One a trajectory."""


@dataclass(frozen=True)
class JudgedTrajectory:
    """What became of one trajectory."""

    row: int
    rows: ShippedRows
    not_repeated: int = 0
    answers: tuple[tuple[EffectKey, Sent], ...] = ()
    """What calls with effects got, where the message with it should be late."""


@dataclass(frozen=True)
class UnitResult:
    """What a task gives back."""

    worker: str
    judged: tuple[JudgedTrajectory, ...]
    calls: int
    lacking: tuple[str, ...] = ()
    """Servers that the worker could not start."""


@dataclass(frozen=True)
class UnitFailure:
    """Why a worker could not judge a unit."""

    worker: str
    kind: Literal["lease-lost", "not-here", "file", "fault"]
    """`lease-lost`: another worker has it. `not-here`: the worker does not see the file. `file`: the file is at fault.
    `fault`: something went wrong on this worker."""
    message: str


@dataclass(frozen=True)
class WorkerReport:
    """What a worker says of its servers when they are started."""

    worker: str
    servers: tuple[Server, ...] = ()
    notes: tuple[str, ...] = ()
