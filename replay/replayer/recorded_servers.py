"""Servers that a recording names otherwise than the fleet does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replay.outcomes import read_name
from replay.records import Server, Step, Trajectory


def servers_named(trajectory: Trajectory, fleet: Iterable[str]) -> set[str]:
    """The servers of the fleet that a trajectory's calls may mean.

    A recording that names a server which is not in the fleet may mean any of them: who it is shows when they run.
    """
    known = set(fleet)
    names: set[str] = set()
    for call in trajectory.calls():
        if call.server is not None and call.server not in known:
            return known
        server = call.server or (read_name(call.name, known).server if call.name else None)
        if server in known:
            names.add(server)
    return names


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
    if not aliases:
        return trajectory
    steps = tuple(_renamed(step, aliases) for step in trajectory.steps)
    return trajectory.model_copy(update={"steps": steps})


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
