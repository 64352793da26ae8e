"""Servers and tools as they described themselves, and what must be known of a fleet to read its answers again."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

from pydantic import Field

from replay.records.base import JsonObject, Record


class Tool(Record):
    """One entry of a server's tools/list."""

    name: str
    description: str | None = None
    input_schema: Any = None
    """JSON Schema of the arguments as the server sent it, also where it breaks the specification."""
    output_schema: Any = None
    annotations: JsonObject | None = None

    @cached_property
    def input_schema_text(self) -> str | None:
        """The inputSchema as JSON with sorted keys; None where it cannot be written so."""
        try:
            return json.dumps(self.input_schema, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            return None

    @property
    def read_only(self) -> bool:
        """Annotated `readOnlyHint: true`. The specification's default is false, and so is ours."""
        return bool(self.annotations and self.annotations.get("readOnlyHint") is True)


class Server(Record):
    """One server of the fleet as a run met it: its identity and tools, or why it could not be had."""

    name: str
    """The name in the fleet file."""
    version: str | None = None
    title: str | None = None
    """The name that the server gave of itself."""
    protocol: str | None = None
    """Negotiated MCP protocol version."""
    tools: tuple[Tool, ...] = ()
    tools_complete: bool = True
    """Whether `tools` are all that it has: tools/list was a list, was read to its end, and did not change since."""
    digest: str | None = None
    """SHA-256 over identity and tools/list, hexadecimal; None where the server did not start."""
    state: str = "none"
    """`none`, or `trajectory` where each trajectory gets a process of its own."""
    notes: tuple[str, ...] = ()
    """Breaches of the specification that were worked around, one sentence each."""
    seconds: float | None = None
    """From spawn to the end of tools/list."""
    error: str | None = None
    """Why it could not be started, in one line; None where it was."""
    stderr_tail: str | None = None

    def tool(self, name: str) -> Tool | None:
        """The tool of that exact name."""
        return next((tool for tool in self.tools if tool.name == name), None)


def digest_of(title: str | None, version: str | None, tools: tuple[Tool, ...]) -> str:
    """SHA-256 (hexadecimal) over a server's identity and tools/list, independent of the order of the tools."""
    listed = sorted(map(vars, tools), key=lambda tool: str(tool["name"]))
    text = json.dumps([title, version, listed], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ServerFacts(Record):
    """One server of the fleet."""

    digest: str
    """SHA-256 of how it starts, without secrets."""
    stateful: bool = False
    """Each trajectory has a process of its own."""
    in_workspace: bool = False
    """It works in the trajectory's workspace."""


class FleetFacts(Record):
    """A fleet, as a run and a cassette keep it."""

    servers: dict[str, ServerFacts] = Field(default_factory=dict)
    local_tools: tuple[str, ...] = ()
    dispatchers: tuple[str, ...] = ()
    """Patterns of tools that only carry other calls, as the fleet file names them."""
    template: str | None = None
    """Workspace template as the fleet file names it."""

    def state_of(self, task: str) -> str:
        """What the state of a trajectory's sandbox begins with: the workspace that it is given."""
        return (self.template or "").replace("${task}", task)

    @property
    def workspace_servers(self) -> frozenset[str]:
        """Servers that share a trajectory's workspace."""
        return frozenset(name for name, facts in self.servers.items() if facts.in_workspace)
