"""The stamp that every file of ours starts with, and the documents that carry it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from replay.records.base import JsonObject, Record
from replay.records.finding import RecurringFailure
from replay.records.server import FleetFacts, Server
from replay.records.summary import Spending
from replay.records.trajectory import Answer, Trajectory
from replay.records.verdict import Fault, Verdict

TRAJECTORY_FORMAT: Final = "replay.trajectory"
TRAJECTORY_VERSION: Final = 1
RUN_FORMAT: Final = "replay.run"
RUN_VERSION: Final = 1
REPORT_FORMAT: Final = "replay.report"
REPORT_VERSION: Final = 1
CASSETTE_FORMAT: Final = "replay.cassette"
CASSETTE_VERSION: Final = 1


class TrajectoryFile(Trajectory):
    """`*.trajectory.json`: the DAG file."""

    format: Literal["replay.trajectory"] = TRAJECTORY_FORMAT
    version: Literal[1] = TRAJECTORY_VERSION


class CallRow(Verdict):
    """One call of the run document: where it stands, and its verdict."""

    file: str
    model: str
    trajectory: str
    call: str
    tool: str | None
    """`server/tool` where both are known, else the name as written."""
    server: str | None = None
    task_type: str | None = None
    fault: Fault | None = None
    """Whose it is that the call did not do what it was to do; None of a success."""


class TrajectoryRow(Record):
    """One trajectory of the run document."""

    file: str
    model: str
    trajectory: str
    task_type: str | None = None
    question: str | None = None
    calls: int
    steps: int


class RunDocument(Record):
    """What `replay classify --json` prints."""

    format: Literal["replay.run"] = RUN_FORMAT
    version: Literal[1] = RUN_VERSION
    servers: tuple[Server, ...]
    trajectories: tuple[TrajectoryRow, ...]
    calls: tuple[CallRow, ...]
    failures: tuple[RecurringFailure, ...] | None = None
    """By their fingerprints, with what is known of them; not there without a `replay-known.yaml`."""
    spending: tuple[Spending, ...] | None = None
    """What all calls, and those of each model, tool and task took; not there where no file says it."""
    summary: JsonObject


class CassetteHeader(Record):
    """First line of a cassette: which fleet gave the answers."""

    format: Literal["replay.cassette"] = CASSETTE_FORMAT
    version: Literal[1] = CASSETTE_VERSION
    fleet: FleetFacts
    servers: tuple[Server, ...]


class CassetteAnswer(Record):
    """Every other line of a cassette: one stored answer."""

    key: str
    """Of `replay.replayer.answer_key`."""
    server: str
    tool: str
    answer: Answer
    arguments: str | None = None
    """The start of the arguments as JSON, to name the nearest call where none is alike."""


Migration: TypeAlias = Callable[[JsonObject], JsonObject]
"""Turns a document of version n into one of version n + 1, and does nothing else."""

MIGRATIONS: Mapping[str, Mapping[int, Migration]] = {TRAJECTORY_FORMAT: {}, RUN_FORMAT: {}, CASSETTE_FORMAT: {}}


def migrate_document(document: JsonObject, newest: int) -> JsonObject:
    """Bring a document of ours to version `newest`, one step at a time.

    Raises:
        ValueError: the version is missing, no number, newer than we know, or older than any migration.
    """
    name, version = str(document.get("format")), document.get("version")
    if not isinstance(version, int):
        raise ValueError(f'{name}: "version" is missing or not a number')
    if version > newest:
        raise ValueError(
            f"{name} version {version} is newer than this replay reads (up to {newest}); update mcp-replay"
        )
    while version < newest:
        step = MIGRATIONS.get(name, {}).get(version)
        if step is None:
            raise ValueError(f"{name} version {version} is unknown (this replay reads version {newest})")
        document = {**step(document), "version": version + 1}
        version += 1
    if version < 1:
        raise ValueError(f"{name} version {version} is unknown (this replay reads version {newest})")
    return document


def dump(record: Record) -> dict[str, Any]:
    """A record as JSON-ready data, the stamp (`format`, `version`) first, empty optional fields left out."""
    return stamped(record.model_dump(mode="json", exclude_none=True))


def stamped(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same data with its stamp first."""
    return {**{key: data[key] for key in ("format", "version") if key in data}, **data}
