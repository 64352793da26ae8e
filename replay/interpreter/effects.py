"""Which tools may be called again: a replay must not send mail twice."""

from __future__ import annotations

from collections.abc import Collection

from replay.interpreter.config.specs import ServerSpec
from replay.records import Tool


def may_issue(name: str, spec: ServerSpec, tool: Tool | None, allowed: Collection[str]) -> bool:
    """Whether a call may be re-issued.

    The specification's default for an unannotated tool is destructive, and so is ours.

    Args:
        name: the server.
        spec: what the fleet file says of it.
        tool: the tool as it describes itself; None where the server lists no such tool.
        allowed: servers that the user allowed on the command line.
    """
    return name in allowed or spec.effects in {"sandboxed", "all"} or (tool is not None and tool.read_only)
