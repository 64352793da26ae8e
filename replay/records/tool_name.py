"""Tool names as models write them, told apart into server and tool."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

SEPARATORS = ("/", "__", "-", ".", ":")
_MCP_PREFIX = "mcp__"
_MAX_REMEMBERED_NAME = 200
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
    without any of them it has no server.
    """
    return (_known_name if len(name) <= _MAX_REMEMBERED_NAME else _find_name)(name, tuple(server_names))


def _find_name(name: str, server_names: tuple[str, ...]) -> ToolName:
    servers = sorted(set(server_names), key=lambda server: (-len(server), server))
    bare = name.removeprefix(_NAMESPACE) or name
    return _of_fleet(name, servers) or _of_fleet(bare, servers) or _of_shape(bare)


_known_name = lru_cache(maxsize=1024)(_find_name)


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
        mark = re.search(r"[-:.]", name)
        server, tool = (name[: mark.start()], name[mark.end() :]) if mark else ("", name)
    return ToolName(server, tool) if server and tool else ToolName(None, name)
