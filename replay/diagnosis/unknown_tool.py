"""Tools that do not exist: which one was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from replay.diagnosis.phrasing import listed, plain, quoted
from replay.diagnosis.trajectory_context import TrajectoryContext
from replay.records import Outcome
from replay.records.finding import Finding

_KINDS: Final = {
    "registry.placeholder": "placeholder-tool",
    "registry.bare-name": "tool-without-server",
    "registry.other-server": "tool-of-another-server",
    "registry.misspelt": "nearly-a-tool",
}


def unknown_tool_findings(context: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What is wrong with the tool's name."""
    row = context.rows[position]
    if row.outcome is not Outcome.UNKNOWN_TOOL:
        return
    name = context.calls[position].name or ""
    kind = _KINDS.get(row.rule, "no-such-tool")
    yield Finding(
        kind=kind,
        scope="call",
        sentence=_sentence(context, position, kind, name),
        suggestion=_suggestion(context, position, row.nearest),
        calls=context.refs(position),
        certainty=row.certainty,
        details={"name": name, "nearest": list(row.nearest)},
    )


def _sentence(context: TrajectoryContext, position: str, kind: str, name: str) -> str:
    row = context.rows[position]
    if kind == "placeholder-tool":
        return f"{quoted(name)} is a placeholder copied from a prompt, not the name of a tool."
    if kind == "tool-without-server":
        return f"{quoted(name)} names a tool, but not its server."
    if row.evidence in ("registry", "schema", "format"):
        known = row.server in context.servers
        absent = (
            f"Server {quoted(row.server)} has no tool {quoted((row.tool or name).removeprefix(f'{row.server}/'))}"
            if known
            else f"No server of the fleet has a tool {quoted(name)}"
        )
        return f"{absent}." if kind != "tool-of-another-server" else f"{absent}; another server has it."
    return (
        f"The answer says that there is no tool {quoted(name)}: {plain(context.answer_text(position) or row.message)}."
    )


def _suggestion(context: TrajectoryContext, position: str, nearest: tuple[str, ...]) -> str | None:
    """The tool that was meant, or those that there are on the server."""
    if nearest:
        sure = context.rows[position].rule in ("registry.bare-name", "registry.other-server")
        first = f"{'Call' if sure else 'The nearest tool is'} {quoted(nearest[0])}"
        return f"{first}; also near: {listed([quoted(name) for name in nearest[1:]])}." if nearest[1:] else f"{first}."
    server = context.servers.get(context.rows[position].server or "")
    if server is not None and server.tools:
        return f"Server {quoted(server.name)} has {listed([quoted(tool.name) for tool in server.tools])}."
    names = sorted(name for name, server in context.servers.items() if server.tools)
    return f"Servers of the fleet: {listed([quoted(name) for name in names])}." if names else None
