"""Trajectories as everything behind the readers can hold them: see `replay.json_values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from replay.json_values import bounded, is_too_deep, json_text
from replay.records import Answer, Call, DataEdge, Record, ReportedResult, Server, Step, Tool, ToolResult, Trajectory
from replay.records.answer import RpcError

_R = TypeVar("_R", bound=Record)


def within_limits(trajectory: Trajectory) -> Trajectory:
    """The trajectory without what is nested too deeply; the same object where all is well.

    Arguments that are nested too deeply cannot be sent as they were recorded: they count as not read, and stand in
    `raw`. Whatever else holds JSON of others is kept as far as it goes.
    """
    return _updated(
        trajectory,
        steps=_each(trajectory.steps, _step),
        servers=_each(trajectory.servers, _server),
        tools=_each(trajectory.tools, _tool),
        edges=None if trajectory.edges is None else _each(trajectory.edges, _edge),
        reported=None if trajectory.reported is None else _reported(trajectory.reported),
    )


def _step(step: Step) -> Step:
    return _updated(step, calls=_each(step.calls, _call))


def _call(call: Call) -> Call:
    answer = None if call.answer is None else _answer(call.answer)
    outer = call.dispatched_by
    if outer is not None:
        outer = _updated(outer, arguments=bounded(outer.arguments))
    if call.arguments is not None and is_too_deep(call.arguments):
        raw = json_text(call.arguments)
        unread = {"arguments": None, "unreadable": call.unreadable or "arguments", "raw": raw}
        return _updated(call, answer=answer, dispatched_by=outer, **unread)
    return _updated(call, answer=answer, dispatched_by=outer, arguments=bounded(call.arguments))


def _answer(answer: Answer) -> Answer:
    if isinstance(answer, ToolResult):
        return _updated(answer, content=bounded(answer.content), structured=bounded(answer.structured))
    if isinstance(answer, RpcError):
        return _updated(answer, data=bounded(answer.data))
    return answer


def _server(server: Server) -> Server:
    return _updated(server, tools=_each(server.tools, _tool))


def _tool(tool: Tool) -> Tool:
    fields = ("input_schema", "output_schema", "annotations")
    return _updated(tool, **{name: bounded(getattr(tool, name)) for name in fields})


def _edge(edge: DataEdge) -> DataEdge:
    return _updated(edge, value=bounded(edge.value))


def _reported(reported: ReportedResult) -> ReportedResult:
    return _updated(reported, details=bounded(reported.details))


def _each(records: tuple[_R, ...], change: Callable[[_R], _R]) -> tuple[_R, ...]:
    """The records changed; the same tuple where none is."""
    changed = tuple(map(change, records))
    return records if all(map(_is_same, changed, records)) else changed


def _updated(record: _R, **fields: Any) -> _R:
    """The record with other values; the same object where all are the very same."""
    if all(getattr(record, name) is value for name, value in fields.items()):
        return record
    return record.model_copy(update=fields)


def _is_same(left: object, right: object) -> bool:
    return left is right
