"""Which tool a call meant that names none: by what the model did next and by the arguments, and by its letters last."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Outcome, Tool
from replay.suggestions import nearest_names

_TOLD_BY_NAME: Final = frozenset({"registry.bare-name", "registry.other-server"})
_MISSPELT: Final = "registry.misspelt"
_MAX_TOOLS: Final = 3
_MIN_LENGTH: Final = 2
"""Characters of a value that two calls may share by no chance."""


def tools_meant(context: TrajectoryContext, position: str) -> tuple[str, ...]:
    """The tools that a call of an unknown one may have meant, as `server/tool`, the likeliest first."""
    row, given = context.rows[position], context.arguments(position)
    tools = {
        f"{name}/{tool.name}": tool
        for name, server in context.servers.items()
        if row.server not in context.servers or name == row.server
        for tool in server.tools
    }
    if row.rule in _TOLD_BY_NAME or not tools:
        return row.nearest
    fitting = [name for name, tool in tools.items() if given and takes(tool, given)]
    by_name = [name for name in row.nearest if name in fitting or (row.rule == _MISSPELT and not given)]
    wanted = (context.calls[position].name or "").rpartition("/")[2]
    alike = fitting if row.server in context.servers else []  # of another server the arguments alone show nothing
    by_letters = nearest_names(wanted, alike, processor=lambda name: name.rpartition("/")[2].lower())
    found = [*_made_next(context, position, set(tools)), *by_name, *by_letters]
    return tuple(dict.fromkeys(found))[:_MAX_TOOLS]


def takes(tool: Tool, given: dict[str, Any]) -> bool:
    """Whether a tool may be called with arguments of these names; a name may be a part of the tool's own."""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required") or []
    if not isinstance(properties, dict):
        return not given
    matching = {name: next((field for field in properties if _is_like(name, field)), None) for name in given}
    return None not in matching.values() and isinstance(required, list) and set(required) <= set(matching.values())


def _is_like(name: str, field: str) -> bool:
    return name == field or name.startswith(field) or field.startswith(name)


def _made_next(context: TrajectoryContext, position: str, tools: set[str]) -> list[str]:
    """The tool of the first later call that succeeded and shares a value with this one."""
    values = _values(context, position)
    made = (
        row.tool
        for later, row in context.rows.items()
        if context.step_of[later] > context.step_of[position]
        and row.outcome is Outcome.SUCCESS
        and row.tool in tools
        and values & _values(context, later)
    )
    return [tool for tool in islice(made, 1) if tool is not None]


def _values(context: TrajectoryContext, position: str) -> set[str]:
    values = (str(scalar.value).strip().lower() for scalar in context.scalars(position))
    return {value for value in values if len(value) >= _MIN_LENGTH}
