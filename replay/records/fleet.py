"""What must be known of a fleet to read its answers again, without the fleet file."""

from __future__ import annotations

from pydantic import Field

from replay.records.base import Record


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
