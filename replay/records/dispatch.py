"""Calls of a dispatcher: a tool that takes another tool's name and arguments, and calls that one.

What the model decided is the inner call: it is judged, counted, aligned and replayed; the outer one is kept beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

from replay.records.base import JsonObject
from replay.records.trajectory import Call, Dispatch, Step, Trajectory


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_VERBS = _words("execute exec call use invoke run dispatch perform trigger proxy")
_OBJECTS = _words("tool tools mcp action actions function functions")
_TOOL_FIELDS = ("toolname", "tool", "functionname", "function", "actionname", "action", "name")
_SERVER_FIELDS = ("servername", "server", "mcpserver", "mcpservername", "serverid", "app", "appname")
_ARGUMENT_FIELDS = (
    *("arguments", "args", "params", "parameters", "input", "inputs", "kwargs", "payload"),
    *("toolarguments", "toolargs", "toolinput", "toolparams", "toolparameters"),
    *("actionarguments", "actioninput", "actionparams", "actionparameters", "functionarguments", "functionargs"),
)
_REMARKS = _words("reason reasoning explanation thought thoughts description rationale timeout id requestid sessionid")
"""Fields that say nothing of what is called."""


def without_dispatcher(call: Call, named: Iterable[str] = ()) -> Call:
    """The call that a dispatcher's call carries; the call itself where it is not a dispatcher's.

    Args:
        call: as the model wrote it.
        named: glob patterns of tools that are known to be dispatchers, whatever their names say.
    """
    if call.name is None or call.arguments is None or call.dispatched_by is not None:
        return call
    is_named = is_dispatcher(call.name, named)
    if not is_named and not _says_that_it_dispatches(call.name):
        return call
    inner = _inner(call.arguments, needs_arguments=not is_named)
    if inner is None:
        return call
    name, arguments = inner
    outer = Dispatch(name=call.name, arguments=call.arguments, server=call.server, tool=call.tool)
    return call.model_copy(
        update={"name": name, "server": None, "tool": None, "arguments": arguments, "dispatched_by": outer}
    )


def as_written(call: Call) -> Call:
    """The call as the model wrote it, with the dispatcher that it was made through."""
    outer = call.dispatched_by
    if outer is None:
        return call
    return call.model_copy(
        update={
            "name": outer.name,
            "server": outer.server,
            "tool": outer.tool,
            "arguments": outer.arguments,
            "dispatched_by": None,
        }
    )


def is_dispatcher(name: str, patterns: Iterable[str]) -> bool:
    """Whether a tool's name as written is one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def with_calls(trajectory: Trajectory, change: Callable[[Call], Call]) -> Trajectory:
    """The trajectory with each call changed; the same one where nothing changes."""
    steps = tuple(_with_calls(step, change) for step in trajectory.steps)
    if all(new is old for new, old in zip(steps, trajectory.steps, strict=True)):
        return trajectory
    return trajectory.model_copy(update={"steps": steps})


def _with_calls(step: Step, change: Callable[[Call], Call]) -> Step:
    calls = tuple(map(change, step.calls))
    same = all(new is old for new, old in zip(calls, step.calls, strict=True))
    return step if same else step.model_copy(update={"calls": calls})


def _says_that_it_dispatches(name: str) -> bool:
    words = {word.casefold() for word in _WORD.findall(name)}
    return bool(words & _VERBS and words & _OBJECTS)


def _inner(arguments: JsonObject, *, needs_arguments: bool) -> tuple[str, JsonObject] | None:
    """The name and arguments that a dispatcher's arguments carry, where they carry nothing else."""
    fields = {re.sub(r"[^a-z]", "", key.casefold()): key for key in arguments}
    tool = next((fields[field] for field in _TOOL_FIELDS if field in fields), None)
    server = next((fields[field] for field in _SERVER_FIELDS if field in fields), None)
    carried = next((fields[field] for field in _ARGUMENT_FIELDS if field in fields), None)
    if tool is None or (carried is None and needs_arguments):
        return None
    beside = (key for field, key in fields.items() if key not in (tool, server, carried) and field not in _REMARKS)
    if any(arguments[key] not in (None, "", {}, [], False, True) for key in beside):
        return None
    name = arguments[tool]
    inner = _object(arguments[carried]) if carried is not None else {}
    if not isinstance(name, str) or not name.strip() or inner is None:
        return None
    of = arguments[server] if server is not None else None
    return (f"{of.strip()}/{name.strip()}" if isinstance(of, str) and of.strip() else name.strip()), inner


def _object(value: Any) -> JsonObject | None:
    """An object, or the one whose JSON a text is; nothing at all is the empty one."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
