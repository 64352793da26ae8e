"""The tools that a model is offered, and what it may write to name them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from replay.interpreter import Interpreter
from replay.records import qualified_name
from replay.records.server import Tool

_NOT_IN_FUNCTION_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_FUNCTION_NAME: Final = 64
"""What the OpenAI protocol allows."""


@dataclass(frozen=True)
class OfferedTool:
    """One tool of one server."""

    server: str
    tool: Tool
    function: str
    """Its name as a function of the OpenAI protocol."""

    @property
    def name(self) -> str:
        """`server/tool`."""
        return qualified_name(self.server, self.tool.name)

    @property
    def line(self) -> str:
        """Name and docstring."""
        return f"- {self.name}: {(self.tool.description or '').strip()}"

    @property
    def definition(self) -> str:
        """Name, docstring and the schema of its arguments."""
        return f"{self.line}\n  arguments: {json.dumps(self.tool.input_schema, ensure_ascii=False)}"

    @property
    def as_function(self) -> dict[str, Any]:
        """A function of the OpenAI protocol."""
        schema = self.tool.input_schema if isinstance(self.tool.input_schema, dict) else {"type": "object"}
        about = {"name": self.function, "description": self.tool.description or "", "parameters": schema}
        return {"type": "function", "function": about}


class Toolbox:
    """What is offered for one task."""

    def __init__(self, tools: Iterable[OfferedTool]) -> None:
        self.tools = tuple(tools)
        self._by_name = {tool.name: tool for tool in self.tools} | {tool.function: tool for tool in self.tools}

    def find(self, name: str) -> OfferedTool | None:
        """The tool that a model names, as `server/tool` or as a function."""
        return self._by_name.get(name.strip())

    def named_in(self, text: str) -> tuple[OfferedTool, ...]:
        """The tools whose names stand in a text; all of them where it names none."""
        return tuple(tool for tool in self.tools if tool.name in text) or self.tools


def offered_tools(
    interpreter: Interpreter, servers: Sequence[str], allowed: Collection[str]
) -> tuple[list[OfferedTool], list[str]]:
    """The tools of these servers that a model may call, and the names of those that it may not.

    Args:
        interpreter: with its servers started.
        servers: in order.
        allowed: servers whose tools may change something outside a sandbox.
    """
    offered: list[OfferedTool] = []
    withheld: list[str] = []
    taken: set[str] = set()
    for name in servers:
        server = interpreter.servers.get(name)
        for tool in server.tools if server is not None else ():
            if interpreter.may_issue(name, tool, allowed):
                function = next(free for free in _function_names(name, tool.name) if free not in taken)
                taken.add(function)
                offered.append(OfferedTool(name, tool, function))
            else:
                withheld.append(qualified_name(name, tool.name))
    return offered, withheld


def _function_names(server: str, tool: str) -> Iterator[str]:
    name = _NOT_IN_FUNCTION_NAME.sub("_", f"{server}__{tool}")
    yield name[:_MAX_FUNCTION_NAME]
    for number in range(2, 10_000):
        suffix = f"_{number}"
        yield name[: _MAX_FUNCTION_NAME - len(suffix)] + suffix
