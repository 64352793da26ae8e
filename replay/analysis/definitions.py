"""What the servers of two runs say of their tools otherwise: tools that are new or gone, and lines of their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from replay.dag.documents import join
from replay.records import Server, Tool
from replay.records.comparison import DefinitionChange
from replay.runfile import Run

_PARTS: Final = {
    "description": "description",
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "annotations": "annotations",
}
"""Of a tool, as the specification calls them, and as our record does."""
_UNORDERED: Final = frozenset({"required", "enum", "type"})
"""Keywords whose lists say the same in any order."""


def definition_changes(first: Run, second: Run) -> Iterator[DefinitionChange]:
    """What changed of the tools of servers that both runs know, server by server."""
    before, after = first.servers(), second.servers()
    for name in before:
        if name in after and before[name].error is None and after[name].error is None:
            yield from _of_server(before[name], after[name])


def _of_server(before: Server, after: Server) -> Iterator[DefinitionChange]:
    if not before.tools or not after.tools:  # a list that nobody asked for is not known to be empty
        return
    tools = [{tool.name: tool for tool in server.tools} for server in (before, after)]
    for tool in dict.fromkeys([*tools[0], *tools[1]]):
        old, new = tools[0].get(tool), tools[1].get(tool)
        if old is None or new is None:
            yield DefinitionChange(server=before.name, tool=tool, change="added" if old is None else "removed")
        else:
            yield from _of_tool(before.name, old, new)


def _of_tool(server: str, old: Tool, new: Tool) -> Iterator[DefinitionChange]:
    for name, attribute in _PARTS.items():
        for pointer, before, after in _differences(getattr(old, attribute), getattr(new, attribute), f"/{name}"):
            yield DefinitionChange(
                server=server, tool=new.name, change="changed", pointer=pointer, before=before, after=after
            )


def _differences(before: Any, after: Any, pointer: str) -> Iterator[tuple[str, Any, Any]]:
    """The innermost places at which two values differ, with what stands there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _differences(before.get(key), after.get(key), join(pointer, key))
    elif _compared(before, pointer) != _compared(after, pointer):
        yield pointer, before, after


def _compared(value: Any, pointer: str) -> Any:
    if isinstance(value, list) and pointer.rpartition("/")[2] in _UNORDERED:
        return sorted(value, key=str)
    return value
