"""Shorter arguments that may do as well."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from replay.dag.pointers import join, parts
from replay.records import Call, JsonObject, Tool, Trajectory

_MIN_LONG_TEXT: Final = 40
_MIN_KEPT: Final = 8
"""Characters of a long text that are tried first."""
_MAX_ROUNDS: Final = 3


def shorter(call: Call, tool: Tool | None, bound: frozenset[str]) -> Iterator[JsonObject]:
    """Arguments of a call with one thing less, the most promising first.

    Args:
        call: with arguments.
        tool: its description; fields that it requires stay.
        bound: pointers whose values come from other calls, or go to them; they stay as they are.
    """
    arguments = call.arguments or {}
    schema = tool.input_schema if tool is not None and isinstance(tool.input_schema, dict) else {}
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    for name in arguments:
        if name not in (required or []) and not _is_bound(join("", name), bound) and len(arguments) > 1:
            yield {key: value for key, value in arguments.items() if key != name}
    for pointer, value in _long_values(arguments):
        if not _is_bound(pointer, bound):
            for less in _less(value):
                yield _replaced(arguments, pointer, less)


def bound_pointers(trajectory: Trajectory, position: str) -> frozenset[str]:
    """The places in a call's arguments that data edges touch."""
    edges = trajectory.edges or ()
    read = (edge.consumer_pointer for edge in edges if edge.consumer == position)
    written = (
        edge.producer_pointer for edge in edges if edge.producer == position and edge.producer_place == "arguments"
    )
    return frozenset((*read, *written))


def with_arguments(trajectory: Trajectory, position: str, arguments: JsonObject) -> Trajectory:
    """The trajectory with other arguments in one call."""
    steps = tuple(
        step.model_copy(
            update={
                "calls": tuple(
                    call.model_copy(update={"arguments": arguments}) if call.position == position else call
                    for call in step.calls
                )
            }
        )
        for step in trajectory.steps
    )
    return trajectory.model_copy(update={"steps": steps})


def _long_values(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Long texts and lists of several items, the outermost first."""
    if isinstance(value, str) and len(value) > _MIN_LONG_TEXT:
        yield pointer, value
    elif isinstance(value, list):
        if len(value) > 1:
            yield pointer, value
        for number, item in enumerate(value):
            yield from _long_values(item, join(pointer, number))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _long_values(item, join(pointer, key))


def _less(value: Any) -> Iterator[Any]:
    """The beginning of a text or a list: very little of it, then ever more."""
    size = _MIN_KEPT if isinstance(value, str) else 1
    for _ in range(_MAX_ROUNDS):
        if size < len(value):
            yield value[:size]
        size *= 8 if isinstance(value, str) else 4


def _is_bound(pointer: str, bound: frozenset[str]) -> bool:
    return any(
        other == pointer or other.startswith(f"{pointer}/") or pointer.startswith(f"{other}/") for other in bound
    )


def _replaced(arguments: JsonObject, pointer: str, value: Any) -> JsonObject:
    changed = copy.deepcopy(arguments)
    *path, last = parts(pointer)
    holder: Any = changed
    for part in path:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    holder[int(last) if isinstance(holder, list) else last] = value
    return changed
