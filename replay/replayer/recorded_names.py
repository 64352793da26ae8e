"""Servers that a recording names otherwise than the fleet does, and files of its that are not on this machine."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from replay.dag.history import failed_visibly
from replay.interpreter import Fleet
from replay.outcomes import Registry, read_name
from replay.records import Call, Server, Step, Trajectory
from replay.records.tool_name import (
    as_written,
    is_dispatcher,
    is_joined_name,
    read_joined_name,
    with_calls,
    without_dispatcher,
)

_PATH: Final = re.compile(r"/(?:[\w.@+~ -]+/)+[\w.@+~ -]*")
_OF_FILES: Final = re.compile(r"(?i)(?:path|file|dir|directory|folder|cwd|root|workspace|location)s?\d*$")
"""How the name of an argument ends that holds a path."""
_MIN_CALLS: Final = 2


def servers_named(trajectory: Trajectory, fleet: Iterable[str]) -> set[str]:
    """The servers of the fleet that a trajectory's calls may mean.

    A recording that names a server which is not in the fleet, or no server at all, may mean any of them: who it is
    shows when they run.
    """
    known = set(fleet)
    names: set[str] = set()
    carriers = [as_written(call) for call in trajectory.calls() if call.dispatched_by is not None]
    calls = [call for call in (*trajectory.calls(), *carriers) if not call.local]
    for call in calls:
        server = _server_of(call, known)
        if server is not None and server not in known:
            return known
        if server in known:
            names.add(server)
    return names if names or not calls else known


def _server_of(call: Call, fleet: set[str]) -> str | None:
    """The server that a call names: one of the fleet, another one that its reader knew, or None."""
    if call.server not in fleet and is_joined_name(call.name, call.server, call.tool):
        read = read_joined_name(call.name or "", fleet)
        return read.server if read else None
    if call.server is not None or not call.name:
        return call.server
    server = read_name(call.name, fleet).server
    return server if server in fleet else None


def with_fleet_names(trajectory: Trajectory, servers: Mapping[str, Server]) -> Trajectory:
    """The trajectory with each recorded server under the name that the fleet gives to the same one.

    Args:
        trajectory: from a recording, or from anywhere: where no call knows its server, it stays as it is.
        servers: of the fleet, by name, as they described themselves.
    """
    aliases = {
        recorded.name: found
        for recorded in trajectory.servers
        if recorded.name not in servers and (found := _same_server(recorded, servers)) is not None
    }
    if aliases:
        steps = tuple(_renamed(step, aliases) for step in trajectory.steps)
        trajectory = trajectory.model_copy(update={"steps": steps})
    return _with_servers_of_bare_names(trajectory, servers)


def _with_servers_of_bare_names(trajectory: Trajectory, servers: Mapping[str, Server]) -> Trajectory:
    """The trajectory with the servers of its tools, where no call names one and an answer shows that a tool ran.

    Hosts that offer a server's tools under their own names record them so. Elsewhere a name without its server is the
    model's mistake.
    """
    if not servers or any(_server_of(call, set(servers)) for call in trajectory.calls()):
        return trajectory
    holders: dict[str, str] = {}
    for name in {call.name for call in trajectory.calls() if call.name and not call.local}:
        offering = [server.name for server in servers.values() if server.tool(name) is not None]
        if len(offering) == 1:
            holders[name] = offering[0]
    ran = any(call.name in holders and call.answer and not failed_visibly(call.answer) for call in trajectory.calls())
    return with_calls(trajectory, lambda call: _offered_by(call, holders)) if ran else trajectory


def _offered_by(call: Call, holders: Mapping[str, str]) -> Call:
    server = holders.get(call.name or "")
    return call.model_copy(update={"server": server, "tool": call.name}) if server is not None else call


def with_fleet_dispatchers(trajectory: Trajectory, registry: Registry, dispatchers: Iterable[str]) -> Trajectory:
    """The trajectory as this fleet reads its dispatchers' calls.

    A dispatcher that a server of the fleet really lists is a tool like any other, and called as it was written, unless
    the fleet file names it a dispatcher.

    Args:
        trajectory: as it was read: calls that look like a dispatcher's are already those that they carry.
        registry: the tools that exist.
        dispatchers: patterns of tools that the fleet file names.
    """
    patterns = tuple(dispatchers)
    if not patterns and not [call for call in trajectory.calls() if call.dispatched_by is not None]:
        return trajectory

    def read(call: Call) -> Call:
        outer = call.dispatched_by
        if outer is None:
            return without_dispatcher(call, patterns)
        return as_written(call) if not is_dispatcher(outer.name, patterns) and _is_listed(call, registry) else call

    return with_calls(trajectory, read)


def _is_listed(call: Call, registry: Registry) -> bool:
    """Whether a server of the fleet lists the dispatcher that carried a call."""
    server, tool = registry.read(as_written(call))
    known = registry.servers.get(server or "")
    return known is not None and known.error is None and known.tool(tool) is not None


def _same_server(recorded: Server, servers: Mapping[str, Server]) -> str | None:
    """The one server of the fleet that introduces itself alike; else the one that offers the same tools."""
    by_title = [name for name, server in servers.items() if server.title and server.title == recorded.title]
    tools = {tool.name for tool in recorded.tools}
    by_tools = [name for name, server in servers.items() if tools and {tool.name for tool in server.tools} == tools]
    for found in (by_title, by_tools):
        if len(found) == 1:
            return found[0]
    return None


def _renamed(step: Step, aliases: Mapping[str, str]) -> Step:
    calls = (call.model_copy(update={"server": aliases.get(call.server or "", call.server)}) for call in step.calls)
    return step.model_copy(update={"calls": tuple(calls)})


class AbsentPaths:
    """Paths that calls give to servers with state, and whose directory is not here.

    Args:
        fleet: whose `recorded_as` says what is taken care of.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._workspace = fleet.workspace
        self._servers = {name for name, spec in fleet.servers.items() if spec.state == "trajectory"}
        self._names = tuple(fleet.servers)
        self._calls: Counter[str] = Counter()
        """By directory."""
        self._is_here: dict[str, bool] = {}

    def add(self, trajectory: Trajectory) -> None:
        """Look at the calls of a trajectory."""
        for call in trajectory.calls() if self._servers else ():
            if (call.server or read_name(call.name or "", self._names).server) in self._servers:
                for directory in {str(PurePosixPath(path).parent) for path in _paths(call.arguments or {})}:
                    if not self._known(directory):
                        self._calls[directory] += 1

    def _known(self, directory: str) -> bool:
        if directory not in self._is_here:
            below = (directory == known or directory.startswith(f"{known}/") for known in self._workspace.recorded_as)
            self._is_here[directory] = any(below) or os.path.isdir(directory)  # noqa: PTH112 - of very many
        return self._is_here[directory]

    def note(self, fleet_file: str) -> str | None:
        """What to add to the fleet file; None where nothing is missing."""
        count = self._calls.total()
        if count < _MIN_CALLS:
            return None
        groups: dict[str, list[str]] = {}
        for directory in self._calls:
            groups.setdefault(directory.split("/")[1], []).append(directory)
        roots = sorted(os.path.commonpath(group) for group in groups.values())
        template = [] if self._workspace.template else ["    template: THE DIRECTORY THAT THEY STARTED FROM"]
        lines = [
            f"{count:,} paths in the calls lie in directories that are not here. In {fleet_file} set",
            "  workspace:",
            *template,
            f"    recorded_as: [{', '.join([*self._workspace.recorded_as, *roots])}]",
        ]
        return "\n".join(lines)


def _paths(arguments: dict[str, Any]) -> Iterator[str]:
    """The values that are absolute paths of files, by their suffix or the argument's name."""
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from _paths(item)
            elif (
                isinstance(item, str)
                and _PATH.fullmatch(item)
                and (_OF_FILES.search(name) or PurePosixPath(item).suffix)
            ):
                yield item
