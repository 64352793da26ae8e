"""The keys of stored answers that a replay will ask for, as far as they can be told before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.outcomes import Registry
from replay.records import Call, FleetFacts, Trajectory, qualified_name
from replay.replayer.keys import answer_key, next_state


def expected_keys(trajectory: Trajectory, registry: Registry, facts: FleetFacts) -> Iterator[str]:
    """The keys where every call is sent as it was recorded; a new value of an earlier answer makes others of some.

    Args:
        trajectory: as the fleet names its servers.
        registry: the tools that exist.
        facts: of the fleet that gave the answers.
    """
    state = facts.state_of(trajectory.id)
    for step in trajectory.steps:
        sent: list[tuple[str, dict[str, Any]]] = []
        for call in step.calls:
            target = _target(call, registry)
            if target is None or call.arguments is None:
                continue
            server, tool, digest = target
            known = facts.servers.get(server)
            stateful = known is not None and known.stateful
            yield answer_key(digest, tool, call.arguments, state if stateful else None)
            if stateful:
                sent.append((qualified_name(server, tool), call.arguments))
        state = next_state(state, sent)


def _target(call: Call, registry: Registry) -> tuple[str, str, str] | None:
    """Server, tool and the server's digest; None where the call is not sent."""
    if call.name is None:
        return None
    name, tool = registry.read(call)
    server = registry.servers.get(name or "")
    if name is None or server is None or server.digest is None or server.tool(tool) is None:
        return None
    return name, tool, server.digest
