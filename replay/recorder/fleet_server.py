"""The MCP server that offers a whole fleet. Schemas and results pass as they came, past the SDK's models."""

from __future__ import annotations

import hashlib
import re
import signal
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import anyio
import anyio.abc
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from replay import __version__
from replay.recorder.assembly import to_result
from replay.records import Answer, JsonObject, RpcError, Server, Tool, ToolResult

MAX_NAME_LENGTH: Final = 64
_FORBIDDEN: Final = re.compile(r"[^a-zA-Z0-9_-]")
_HASH_SUFFIX_LENGTH: Final = 7
"""Length of `_` and six hexadecimal digits."""
_INVALID_PARAMS: Final = -32602
_CONNECTION_CLOSED: Final = -32000


class ServerTool(NamedTuple):
    """A server of the fleet, and a tool as the server calls it."""

    server: str
    tool: str


class FleetSession:
    """One client's session with the fleet: it is recorded, or answered from a cassette, which records nothing."""

    @property
    def has_calls(self) -> bool:
        """Whether the client called a tool."""
        return False

    def record_servers(self, servers: Mapping[str, Server]) -> None:
        """Take note of the servers as they are known by now."""

    def record_rejected(self, request: dict[str, Any], code: int, message: str) -> None:
        """Take note of a call that goes to no server, and of the error that the client gets."""

    async def call(self, request: dict[str, Any], target: ServerTool, arguments: JsonObject) -> Answer:
        """The answer to a call."""
        raise NotImplementedError


SessionOf = Callable[[ServerRequestContext[Any, Any]], FleetSession | None]
"""Finds the session that a request belongs to; None for a request that begins none."""


class FleetServer:
    """All tools of a fleet as one MCP server.

    Args:
        servers: those of the fleet by name, as they are known by now.
        session_of: finds the session of a request.
    """

    def __init__(self, servers: Callable[[], Mapping[str, Server]], session_of: SessionOf) -> None:
        self._servers, self._session_of = servers, session_of
        self._tools_ready = anyio.Event()
        self._tools: list[dict[str, Any]] = []
        self._targets: Mapping[str, ServerTool] = {}
        self._recorded_sessions: set[int] = set()
        self.server: McpServer[Any] = McpServer(
            "replay-recorder",
            version=__version__,
            on_list_tools=_not_reached,
            on_call_tool=_not_reached,
            get_tool_input_schema=self._schema,
        )
        self.server.middleware.append(self._handle)

    def expose_tools(self, *, own_names: bool = False) -> int:
        """The servers have started: list their tools from now on.

        Args:
            own_names: tools of a server that is alone have the names that it gives them.

        Returns:
            How many there are.
        """
        servers = self._servers().values()
        found = {ServerTool(server.name, tool.name): tool for server in servers for tool in server.tools}
        alone = own_names and len({target.server for target in found}) == 1
        self._targets = {target.tool: target for target in found} if alone else exposed_names(found)
        self._tools = [_tool_entry(name, found[target]) for name, target in self._targets.items()]
        self._tools_ready.set()
        return len(self._tools)

    async def serve_stdio(self, tasks: anyio.abc.TaskGroup) -> None:
        """Serve one client on our standard streams, until it goes or a signal cancels the tasks."""
        tasks.start_soon(stop_on_signal, tasks.cancel_scope.cancel)
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())

    async def _handle(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Before the SDK validates, and instead of its own answer for tools."""
        session = self._session_of(ctx)
        if ctx.request_id is None or ctx.method not in {"tools/list", "tools/call"}:
            return await call_next(ctx)
        await self._tools_ready.wait()
        if session is not None and id(session) not in self._recorded_sessions:
            self._recorded_sessions.add(id(session))
            session.record_servers(self._servers())
        if ctx.method == "tools/list":
            return _envelope(ctx, {"tools": self._tools})
        return await self._call(ctx, session, call_next)

    async def _call(
        self, ctx: ServerRequestContext[Any, Any], session: FleetSession | None, call_next: CallNext
    ) -> HandlerResult:
        params = {key: value for key, value in (ctx.params or {}).items() if key != "_meta"}
        request = {"id": ctx.request_id, "params": params}
        name, arguments = params.get("name"), params.get("arguments")
        target = (self._targets.get(name) or self._tool_of_failed_server(name)) if isinstance(name, str) else None
        if session is None:
            return await call_next(ctx)
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            session.record_rejected(request, _INVALID_PARAMS, "Invalid request parameters")
            return await call_next(ctx)
        if target is None:
            message = f"Unknown tool: {name}"
            session.record_rejected(request, _INVALID_PARAMS, message)
            raise MCPError(code=_INVALID_PARAMS, message=message)
        answer = await session.call(request, target, arguments or {})
        if isinstance(answer, ToolResult):
            return _envelope(ctx, to_result(answer))
        if isinstance(answer, RpcError):
            raise MCPError(code=answer.code, message=answer.message, data=answer.data)
        fault = getattr(answer, "message", "no answer")
        raise MCPError(code=_CONNECTION_CLOSED, message=f"{target.server}: {fault}")

    def _tool_of_failed_server(self, name: str) -> ServerTool | None:
        """A tool of a server that did not start: the client may know it from earlier, and should get the reason."""
        failed = (server.name for server in self._servers().values() if server.error is not None)
        return next(
            (ServerTool(server, name[len(server) + 2 :]) for server in failed if name.startswith(f"{server}__")), None
        )

    def _schema(self, name: str) -> Mapping[str, Any] | None:
        schema = next((tool["inputSchema"] for tool in self._tools if tool["name"] == name), None)
        return schema if isinstance(schema, dict) else None


async def stop_on_signal(stop: Callable[[], object]) -> None:
    """Call `stop` whenever a signal to stop arrives."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            stop()


def _tool_entry(name: str, tool: Tool) -> dict[str, Any]:
    optional = {
        "description": tool.description,
        "outputSchema": tool.output_schema if isinstance(tool.output_schema, dict) else None,
        "annotations": tool.annotations,
    }
    known = {key: value for key, value in optional.items() if value is not None}
    return {"name": name, "inputSchema": _valid_schema(tool.input_schema), **known}


def _valid_schema(schema: Any) -> dict[str, Any]:
    """The schema as it came, unless it breaks the specification: clients would refuse the whole fleet for that."""
    if not isinstance(schema, dict):
        return {"type": "object"}
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def _envelope(ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> dict[str, Any]:
    """What the protocol from 2026-07-28 on wants on each result."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return result
    caching = {"ttlMs": 0, "cacheScope": "private"} if ctx.method == "tools/list" else {}
    return {"resultType": "complete", **caching, **result}


async def _not_reached(ctx: Any, params: Any) -> Any:
    """Stands for the capability; the middleware answers first."""
    raise MCPError(code=types.INTERNAL_ERROR, message="not reached")


def exposed_names(tools: Iterable[ServerTool]) -> Mapping[str, ServerTool]:
    """`server__tool` for each tool: at most 64 of `a-z A-Z 0-9 _ -`, each different.

    Where two tools would get one name, or a name had to be changed or cut, six digits of a hash of the real names
    stand at its end; so a tool's name does not depend on what else is exposed, but for such clashes.
    """
    exposed: dict[str, ServerTool] = {}
    for target in sorted(set(tools)):
        joined = f"{target.server}__{target.tool}"
        name = _FORBIDDEN.sub("_", joined)
        if name != joined or len(name) > MAX_NAME_LENGTH or name in exposed:
            name = _with_hash(name, target)
        exposed[name] = target
    return exposed


def _with_hash(name: str, target: ServerTool) -> str:
    digest = hashlib.sha256("\0".join(target).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[: MAX_NAME_LENGTH - _HASH_SUFFIX_LENGTH]}_{digest[: _HASH_SUFFIX_LENGTH - 1]}"
