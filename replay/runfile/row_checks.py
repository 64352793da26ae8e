"""Whether a row of a run file holds what it must: what a damaged file gives may be anything."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from replay.records import Answer, FleetFacts, Server, Trajectory
from replay.records.alignment import AlignedModel, AlignedTask
from replay.runfile.effects_journal import journalled
from replay.runfile.json_blob import unpack
from replay.runfile.rows import verdict_of_row

UNREADABLE: Final = (
    sqlite3.DatabaseError,
    zlib.error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)
"""What reading damaged rows raises."""
_ANSWER: Final[TypeAdapter[Answer]] = TypeAdapter(Answer)

Row = dict[str, Any]


def _need(row: Row, kind: type, *names: str) -> None:
    for name in names:
        if not isinstance(row[name], kind):
            raise TypeError(name)


def _meta(row: Row) -> None:
    _need(row, str, "key", "value")
    if row["key"] == "fleet":
        FleetFacts.model_validate_json(row["value"])
    elif row["key"] in {"trials", "version"}:
        int(row["value"])


def _server(row: Row) -> None:
    _need(row, str, "name", "record")
    Server.model_validate_json(row["record"])


def _file(row: Row) -> None:
    _need(row, str, "path", "model", "format")
    if "\0" in row["path"] + row["model"]:
        raise ValueError("path")


def _trajectory(row: Row) -> None:
    _need(row, int, "file", "steps", "calls", "done")
    _need(row, str, "name", "digest", "policy")
    record = Trajectory.model_validate(unpack(row["record"]))
    if row["calls"] != sum(len(step.calls) for step in record.steps) or row["name"] != record.id:
        raise ValueError("record")


def _call(row: Row) -> None:
    _need(row, int, "trajectory", "ordinal", "file")
    _need(row, str, "position", "outcome", "message", "rule", "details")
    for name in ("server", "tool", "task_type", "arguments", "answer_key"):
        if row[name] is not None:
            _need(row, str, name)
    verdict_of_row(row)


def _journal(row: Row) -> None:
    _need(row, str, "path", "trajectory", "question", "server", "tool", "arguments")
    journalled(row["answer"])


def _answer(row: Row) -> None:
    _need(row, str, "key", "server", "server_digest", "tool")
    _ANSWER.validate_python(unpack(row["answer"]))


CHECKS: Final[Mapping[str, Callable[[Row], object]]] = {
    "meta": _meta,
    "servers": _server,
    "files": _file,
    "trajectories": _trajectory,
    "calls": _call,
    "journal": _journal,
    "answers": _answer,
    "alignments": lambda row: AlignedModel.model_validate(unpack(row["record"])),
    "aligned_tasks": lambda row: AlignedTask.model_validate(unpack(row["record"])),
    "reference_tasks": lambda row: unpack(row["record"]),
}
"""By table: raises one of `UNREADABLE` where a row is not as it must be."""
