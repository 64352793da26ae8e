"""What verdicts depend on beside the calls: the fleet, its tools, the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.interpreter import Fleet
from replay.outcomes import Registry
from replay.outcomes.stages import EVERY_SERVER
from replay.records import FleetFacts, RuleSpec, Server, ServerFacts, digest
from replay.replayer.options import Options


def facts_of(fleet: Fleet) -> FleetFacts:
    """What must be kept of a fleet to read its answers again."""
    return FleetFacts(
        servers={
            name: ServerFacts(
                digest=fleet.digest(name),
                stateful=spec.state == "trajectory",
                in_workspace=spec.state == "trajectory" or spec.uses_workspace,
            )
            for name, spec in fleet.servers.items()
        },
        local_tools=fleet.local_tools,
        dispatchers=fleet.dispatchers,
        template=fleet.workspace.template,
    )


def registry_of(
    servers: Mapping[str, Server], local_tools: tuple[str, ...], names: tuple[str, ...], *, complete: bool
) -> Registry:
    """The tools that exist, as the classification wants to know them."""
    return Registry(
        servers=dict(servers),
        unavailable={name: server.error for name, server in servers.items() if server.error is not None},
        local_tools=local_tools,
        server_names=names,
        complete=complete,
    )


def rules_of(fleet: Fleet | None, options: Options) -> dict[str, tuple[RuleSpec, ...]]:
    """The user's own rules by server, and the labels for all of them."""
    rules = {name: tuple(spec.rules) for name, spec in fleet.servers.items()} if fleet else {}
    return {**rules, EVERY_SERVER: options.labels} if options.labels else rules


def policy_of(facts: FleetFacts, options: Options, fleet: Fleet | None, *, live: bool) -> str:
    """Digest of all that could change a verdict."""
    rules = {name: [rule.model_dump(mode="json") for rule in own] for name, own in rules_of(fleet, options).items()}
    effects = {name: spec.effects for name, spec in fleet.servers.items()} if fleet else {}
    choices: list[Any] = [options.only, options.trials, sorted(options.allow_effects), options.rebinding]
    return digest([facts.model_dump(mode="json"), rules, effects, choices, live])
