"""Calls that could not be made: their syntax is wrong, or there is no such tool; and what was meant."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, Final

from replay.diagnosis.phrasing import listed, plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Call, Outcome, Tool
from replay.records.finding import Finding
from replay.suggestions import nearest_names

_TOLD_BY_NAME: Final = frozenset({"registry.bare-name", "registry.other-server"})
_MISSPELT: Final = "registry.misspelt"
_MAX_TOOLS: Final = 3
_MIN_LENGTH: Final = 2
"""Characters of a value that two calls may share by no chance."""
_OBJECT: Final = 'Write the arguments as a JSON object, e.g. {"name": "value"}; for no arguments, {}'
_ASSIGNMENTS: Final = re.compile(r"\s*\"?(?:[A-Za-z_]\w*=[^=,&]+)(?:[,&]\s*[A-Za-z_]\w*=[^=,&]+)*\"?\s*")
_KINDS: Final = {
    "registry.placeholder": "placeholder-tool",
    "registry.bare-name": "tool-without-server",
    "registry.other-server": "tool-of-another-server",
    "registry.misspelt": "nearly-a-tool",
}


def format_finding(context: TrajectoryContext, position: str) -> Finding:
    """What is wrong with the syntax of a call, and how it should be."""
    row, call = context.rows[position], context.calls[position]
    kind, suggestion = _SUGGESTIONS.get(row.rule.rpartition(".")[2], ("no-json", _OBJECT))
    return context.finding(position, kind, f"{plain(row.message, 240)}.", f"{_meant(call) or suggestion}.")


def _meant(call: Call) -> str | None:
    """The object that a text such as `"message=hi"` stands for."""
    if call.unreadable != "arguments" or not call.raw or not _ASSIGNMENTS.fullmatch(call.raw):
        return None
    pairs = (part.partition("=") for part in re.split(r"[,&]", call.raw.strip().strip('"')))
    members = ", ".join(f'"{plain(key.strip())}": "{plain(value.strip())}"' for key, _, value in pairs)
    return f"Write the arguments as a JSON object: {{{members}}}"


def unknown_tool_finding(context: TrajectoryContext, position: str) -> Finding:
    """What is wrong with the tool's name, and which tool was meant."""
    row = context.rows[position]
    name = context.calls[position].name or ""
    kind = _KINDS.get(row.rule, "no-such-tool")
    meant = tools_meant(context, position)
    return context.finding(
        position,
        kind,
        _sentence(context, position, kind, name),
        _suggestion(context, position, meant),
        details={"name": name, "nearest": list(meant)},
    )


def _sentence(context: TrajectoryContext, position: str, kind: str, name: str) -> str:
    row = context.rows[position]
    if kind == "placeholder-tool":
        return f"{quoted(name)} is a placeholder copied from a prompt, not the name of a tool."
    if kind == "tool-without-server":
        return f"{quoted(name)} names a tool, but not its server."
    if row.evidence in ("registry", "schema", "format"):
        known = row.server in context.servers
        absent = (
            f"Server {quoted(row.server)} has no tool {quoted((row.tool or name).removeprefix(f'{row.server}/'))}"
            if known
            else f"No server of the fleet has a tool {quoted(name)}"
        )
        return f"{absent}." if kind != "tool-of-another-server" else f"{absent}; another server has it."
    return (
        f"The answer says that there is no tool {quoted(name)}: {plain(context.answer_text(position) or row.message)}."
    )


def _suggestion(context: TrajectoryContext, position: str, nearest: tuple[str, ...]) -> str | None:
    """The tool that was meant, or those that there are on the server."""
    if nearest:
        sure = context.rows[position].rule in ("registry.bare-name", "registry.other-server")
        first = f"{'Call' if sure else 'The nearest tool is'} {quoted(nearest[0])}"
        return f"{first}; also near: {listed([quoted(name) for name in nearest[1:]])}." if nearest[1:] else f"{first}."
    server = context.servers.get(context.rows[position].server or "")
    if server is not None and server.tools:
        return f"Server {quoted(server.name)} has {listed([quoted(tool.name) for tool in server.tools])}."
    names = sorted(name for name, server in context.servers.items() if server.tools)
    return f"Servers of the fleet: {listed([quoted(name) for name in names])}." if names else None


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
    wanted = (row.tool or context.calls[position].name or "").rpartition("/")[2]
    alike = fitting if row.server in context.servers else []  # of another server the arguments alone show nothing
    by_letters = nearest_names(wanted, alike, processor=lambda name: name.rpartition("/")[2].lower())
    same = [name for name in row.nearest if _letters(name.rpartition("/")[2]) == _letters(wanted)]
    found = [*same, *_made_next(context, position, set(tools)), *by_name, *by_letters]
    return tuple(dict.fromkeys(found))[:_MAX_TOOLS]


def takes(tool: Tool, given: dict[str, Any]) -> bool:
    """Whether a tool may be called with arguments of these names; a name may be a part of the tool's own."""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required") or []
    if not isinstance(properties, dict):
        return not given
    matching = {name: next((field for field in properties if _is_like(name, field)), None) for name in given}
    return None not in matching.values() and isinstance(required, list) and set(required) <= set(matching.values())


_SUGGESTIONS: Final = {
    "delimiters": (
        "wrapped-call",
        "Write the bare JSON, without the delimiters around it; or let the host strip them before it parses",
    ),
    "cut-off": ("cut-off-call", "Give the model more output tokens, or shorter values to write: the JSON never ended"),
    "escape": ("broken-escape", r"Write a backslash in a JSON string twice (\\), and no escapes that JSON lacks"),
    "trailing": ("text-after-call", "End the message with the JSON; what follows it belongs into another message"),
    "no-json": ("no-json", _OBJECT),
    "no-name": ("no-tool-name", 'Name the tool in "name", as tools/list gives it'),
    "name-not-text": ("no-tool-name", 'Give "name" as a JSON string, as tools/list gives it'),
    "no-arguments": ("no-arguments", 'Add "arguments": a JSON object, {} where the tool takes none'),
    "arguments-not-object": ("arguments-not-an-object", _OBJECT),
}


def _is_like(name: str, field: str) -> bool:
    return name == field or name.startswith(field) or field.startswith(name)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


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
    values = (str(scalar.value).strip().lower() for scalar in context.scalars[position])
    return {value for value in values if len(value) >= _MIN_LENGTH}
