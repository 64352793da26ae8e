"""Rung 2: does the tool exist in the fleet?"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from pydantic import Field

from replay.outcomes.names import read_name
from replay.records import Call, Judgement, Outcome, Reason, Record, Server


class Registry(Record):
    """What is known of the tools that exist."""

    servers: Mapping[str, Server] = Field(default_factory=dict)
    """Servers of the fleet by fleet name; their tools are known where they have a digest and no error."""
    unavailable: Mapping[str, str] = Field(default_factory=dict)
    """Servers that are in the fleet and did not start, and why in one line."""
    local_tools: tuple[str, ...] = ()
    """Glob patterns on the name as written: tools of the harness, which no MCP server has."""
    server_names: tuple[str, ...] = ()
    """All names in the fleet file, started or not."""

    @property
    def known(self) -> bool:
        """Whether any server's tools/list is known."""
        return any(map(has_tools_list, self.servers.values()))

    def is_local(self, name: str) -> bool:
        """Whether the name as written is one of the harness's own tools."""
        return any(fnmatchcase(name, pattern) for pattern in self.local_tools)


def has_tools_list(server: Server) -> bool:
    """Whether the server answered tools/list."""
    return server.error is None and server.digest is not None


def judge_registry(call: Call, registry: Registry) -> Judgement | None:
    """Judge whether the tool exists; None where it does, or where no tools/list is known."""
    if call.name is None:
        return None
    if registry.is_local(call.name):
        return _judgement(
            Outcome.INCONCLUSIVE,
            "registry.local-tool",
            f"{call.name} is a tool of the harness, not of an MCP server.",
            Reason.NOT_IN_FLEET,
        )
    if not registry.known:
        return None
    server, tool = read_name(call.name, registry.server_names)
    if server in registry.unavailable:
        return _judgement(
            Outcome.INCONCLUSIVE,
            "registry.server-unavailable",
            f"Server {server} did not start: {registry.unavailable[server]}",
            Reason.SERVER_UNAVAILABLE,
        )
    known = registry.servers.get(server or "")
    if known is not None and known.tool(tool) is not None:
        return None
    return _judgement(Outcome.UNKNOWN_TOOL, "registry.no-such-tool", f"No server of the fleet has a tool {call.name}.")


def _judgement(outcome: Outcome, rule: str, message: str, reason: Reason | None = None) -> Judgement:
    return Judgement(outcome=outcome, reason=reason, rule=rule, evidence="registry", message=message)
