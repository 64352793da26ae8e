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


def name_findings(case: TrajectoryContext, position: str) -> Iterator[Finding]:
    """What is wrong with the tool's name."""
    row = case.rows[position]
    if row.outcome is not Outcome.UNKNOWN_TOOL:
        return
    name = case.calls[position].name or ""
    kind = _KINDS.get(row.rule, "no-such-tool")
    yield Finding(
        kind=kind,
        scope="call",
        sentence=_sentence(case, position, kind, name),
        suggestion=_suggestion(case, position, row.nearest),
        calls=case.refs(position),
        certainty=row.certainty,
        details={"name": name, "nearest": list(row.nearest)},
    )


def _sentence(case: TrajectoryContext, position: str, kind: str, name: str) -> str:
    row = case.rows[position]
    if kind == "placeholder-tool":
        return f"{quoted(name)} is a placeholder copied from a prompt, not the name of a tool."
    if kind == "tool-without-server":
        return f"{quoted(name)} names a tool, but not its server."
    if row.evidence in ("registry", "schema", "format"):
        known = row.server in case.servers
        said = (
            f"Server {quoted(row.server)} has no tool {quoted((row.tool or name).removeprefix(f'{row.server}/'))}"
            if known
            else f"No server of the fleet has a tool {quoted(name)}"
        )
        return f"{said}." if kind != "tool-of-another-server" else f"{said}; another server has it."
    return f"The answer says that there is no tool {quoted(name)}: {plain(case.said(position) or row.message)}."


def _suggestion(case: TrajectoryContext, position: str, nearest: tuple[str, ...]) -> str | None:
    """The tool that was meant, or those that there are on the server."""
    if nearest:
        sure = case.rows[position].rule in ("registry.bare-name", "registry.other-server")
        first = f"{'Call' if sure else 'The nearest tool is'} {quoted(nearest[0])}"
        return f"{first}; also near: {listed([quoted(name) for name in nearest[1:]])}." if nearest[1:] else f"{first}."
    server = case.servers.get(case.rows[position].server or "")
    if server is not None and server.tools:
        return f"Server {quoted(server.name)} has {listed([quoted(tool.name) for tool in server.tools])}."
    names = sorted(name for name, one in case.servers.items() if one.tools)
    return f"Servers of the fleet: {listed([quoted(name) for name in names])}." if names else None
