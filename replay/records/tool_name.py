"""Tool names as models write them, told apart into server and tool; and dispatchers, whose calls carry another's.

What the model decided is the inner call: it is judged, counted, aligned and replayed; the outer one is kept beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from replay.records.base import JsonObject
from replay.records.trajectory import Call, Dispatch, Trajectory

SEPARATORS = ("/", "__", "-", ".", ":")
_MCP_PREFIX = "mcp__"
_NAMESPACE = "functions."
"""The namespace in which OpenAI's models see all tools, and which they write into names at times."""


class ToolName(NamedTuple):
    """A tool name read as a server and one of its tools."""

    server: str | None
    """The server's name in the fleet where one matched, else the part of the name that stands for it; None without."""
    tool: str


def read_name(name: str, server_names: Iterable[str]) -> ToolName:
    """Tell server and tool apart.

    The fleet's own names are tried first, longest first, over `/ __ - . :` and `mcp__SERVER__TOOL`; an exact match
    before one that differs only in case, `-` and `_` (taken where exactly one server matches so; whether a name in
    another case exists is for the registry to say). Where no server is called `functions`, a leading `functions.` is
    OpenAI's namespace and no part of the name. A name that starts with no server of the fleet is split at the first
    `/`, as `mcp__SERVER__TOOL`, at the first `__`, and last at the first of `-`, `:` and `.`, whichever comes first;
    without any of them it has no server. Of several `-` the one counts before which a tool's name most likely begins.
    What begins like a tool's own name (`get-forecast`, `API-post-page`) has no server.
    """
    return _known_name(name, tuple(server_names))


@lru_cache(maxsize=1024)
def _known_name(name: str, server_names: tuple[str, ...]) -> ToolName:
    servers = sorted(set(server_names), key=lambda server: (-len(server), server))
    bare = name.removeprefix(_NAMESPACE) or name
    return _of_fleet(name, servers) or _of_fleet(bare, servers) or _of_shape(bare)


def read_joined_name(name: str, server_names: Iterable[str]) -> ToolName | None:
    """Tell server and tool apart in `SERVER_TOOL`, as OpenCode joins them; None where no server of the fleet fits.

    What is not a letter, a digit, `-` or `_` it writes as `_`. The longest name that fits is taken.
    """
    for server in sorted(set(server_names), key=lambda server: (-len(server), server)):
        beginning = re.sub(r"[^a-z0-9]", "_", server.casefold()) + "_"
        folded = re.sub(r"[^a-z0-9]", "_", name.casefold())
        if server and folded.startswith(beginning) and len(name) > len(beginning):
            return ToolName(server, name[len(beginning) :])
    return None


def is_joined_name(name: str | None, server: str | None, tool: str | None) -> bool:
    """Whether a name is a server's and a tool's with nothing but `_` between, so that a reader could only guess."""
    return server is not None and tool is not None and name == f"{server}_{tool}"


def begins_with_server(name: str, server: str) -> bool:
    """Whether a name begins with this server's, in the same case; `-` and `_` stand for each other."""
    wanted = server.replace("-", "_")
    bare = name.removeprefix(_NAMESPACE)
    bodies = (name, bare, bare.removeprefix(_MCP_PREFIX))
    return any(body.replace("-", "_").startswith(wanted) for body in bodies)


def _of_fleet(name: str, servers: list[str]) -> ToolName | None:
    bodies = [name.removeprefix(_MCP_PREFIX), name] if name.startswith(_MCP_PREFIX) else [name]
    for body in bodies:
        for server in servers:
            tool = _rest(body, server)
            if server and body.startswith(server) and tool:
                return ToolName(server, tool)
    for body in bodies:
        matches = [(server, _rest(body, server)) for server in servers if _folded(body).startswith(_folded(server))]
        matches = [(server, tool) for server, tool in matches if server and tool]
        longest = [match for match in matches if len(match[0]) == len(matches[0][0])]
        if len(longest) == 1:
            return ToolName(*longest[0])
    return None


def _rest(body: str, server: str) -> str:
    """What follows the server's name and one separator; empty where no separator follows."""
    rest = body[len(server) :]
    separator = next((mark for mark in SEPARATORS if rest.startswith(mark)), None)
    return rest[len(separator) :] if separator else ""


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _of_shape(name: str) -> ToolName:
    if "/" in name:
        server, _, tool = name.partition("/")
    elif name.startswith(_MCP_PREFIX) and "__" in name[len(_MCP_PREFIX) :]:
        server, _, tool = name[len(_MCP_PREFIX) :].partition("__")
    elif "__" in name:
        server, _, tool = name.partition("__")
    else:
        server, tool = _guessed(name)
    return ToolName(server, tool) if server and tool else ToolName(None, name)


def _guessed(name: str) -> tuple[str, str]:
    """A server and a tool with a `-`, `:` or `.` between, which may as well stand inside of either's own name."""
    mark = re.search(r"[-:.]", name)
    if mark is None:
        return "", name
    cut, parts = mark.start(), name.split("-")
    if mark[0] == "-" and len(parts) > 2:
        begins = next((number for number, part in enumerate(parts[1:-1], 1) if _begins_a_tool(part)), None)
        if begins is None and "_" in parts[-1]:
            begins = len(parts) - 1
        cut = len("-".join(parts[:begins])) if begins is not None else cut
    server, tool = name[:cut], name[cut + 1 :]
    in_other_style = "_" in tool and _begins_a_tool(tool)  # `fetch-fetch_html`
    return ("", name) if _begins_a_tool(server) and not in_other_style else (server, tool)


def _begins_a_tool(text: str) -> bool:
    word = _WORD.match(text)
    return word is not None and word[0].casefold() in _FIRST_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_FIRST_WORDS = _words(
    "add analyze api append apply book call cancel check clear click close compute convert copy count create delete "
    "describe download edit execute export extract fetch fill filter find generate get import insert invoke list load "
    "lookup make modify move navigate open parse patch post put query read remove rename replace reply request reset "
    "resolve retrieve run save search select send set show start stop submit summarize sync translate update upload "
    "upsert validate verify view write"
)
"""Words that tools' names begin with, and names of servers hardly ever do."""
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
    changed = [tuple(map(change, step.calls)) for step in trajectory.steps]
    old = [call for step in trajectory.steps for call in step.calls]
    if all(new is call for new, call in zip((call for calls in changed for call in calls), old, strict=True)):
        return trajectory
    steps = (step.model_copy(update={"calls": calls}) for step, calls in zip(trajectory.steps, changed, strict=True))
    return trajectory.model_copy(update={"steps": tuple(steps)})


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
