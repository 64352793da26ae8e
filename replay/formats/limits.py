"""Trajectories as everything behind the readers can hold them: see `replay.json_values`."""

from __future__ import annotations

from typing import Any, TypeVar

from replay.json_values import bounded, is_too_deep, json_text
from replay.records import Call, Record, Trajectory

_R = TypeVar("_R", bound=Record)


def within_limits(trajectory: Trajectory) -> Trajectory:
    """The trajectory without what is nested too deeply; the same object where all is well.

    Arguments that are nested too deeply cannot be sent as they were recorded: they count as not read, and stand in
    `raw`. Whatever else holds JSON of others is kept as far as it goes.
    """
    return _within(trajectory)


def _within(record: _R) -> _R:
    changes = {name: kept for name, value in record if (kept := _kept(value)) is not value}
    if isinstance(record, Call) and "arguments" in changes and is_too_deep(record.arguments):
        raw = json_text(record.arguments)
        changes |= {"arguments": None, "unreadable": record.unreadable or "arguments", "raw": raw}
    return record.model_copy(update=changes) if changes else record


def _kept(value: Any) -> Any:
    if isinstance(value, Record):
        return _within(value)
    if isinstance(value, tuple) and value and isinstance(value[0], Record):
        kept = tuple(map(_within, value))
        return kept if any(new is not old for new, old in zip(kept, value, strict=True)) else value
    return bounded(value) if isinstance(value, dict | list | tuple) else value
