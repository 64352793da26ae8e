"""A cassette served as an MCP server: recorded answers, and no server behind them unless misses are passed on."""

from __future__ import annotations

import json
import socket
import tempfile
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from replay.errors import UsageError
from replay.interpreter import Fleet, Interpreter, Sandbox
from replay.recorder.fleet_server import FleetServer, FleetSession, ServerTool, SessionOf
from replay.recorder.http_server import LOOPBACK, Access, HttpSessionResolver, is_loopback, listen, print_address, serve
from replay.recorder.recording import print_notice
from replay.records import Answer, JsonObject, RpcError, Server, canonical, qualified_name
from replay.records.trajectory import is_stderr_key
from replay.replayer.backends import answer_key, next_state
from replay.replayer.cassette import Cassette
from replay.safety.text import one_line
from replay.suggestions import nearest_name

MISS: Final = -32004
"""The code of the error for a call that the cassette has no answer to."""


def serve_cassette(
    cassette: Cassette,
    only: str | None = None,
    fleet: Fleet | None = None,
    port: int | None = None,
    host: str = LOOPBACK,
    token: str | None = None,
) -> int:
    """Serve a cassette until its client goes or a signal arrives; returns how many calls it had no answer to.

    Args:
        cassette: the answers.
        only: the one server to offer, under the names that it gives its tools; by default all, as `server__tool`.
        fleet: where calls go that the cassette has no answer to; without it they get an error.
        port: to serve there by HTTP; stdio where None.
        host: the address of this machine that is listened on.
        token: what clients must send; without it those on this machine need none, unless calls reach a fleet.

    Raises:
        UsageError: there is no such server in the cassette, the port is taken, or other machines would need no token.
    """
    known = {name: server for name, server in cassette.servers.items() if server.error is None}
    if only is not None and only not in known:
        nearest = nearest_name(only, known)
        hint = f"; did you mean {nearest}?" if nearest else f"; it has {', '.join(known) or 'none'}"
        raise UsageError(f"{cassette.path} has no server {only!r}{hint}")
    served = _CassetteHost(cassette, {only: known[only]} if only is not None else known, fleet, own_names=bool(only))
    if port is None:
        anyio.run(served.serve_stdio)
        return served.misses
    with listen(port, host) as listener:
        if token is None and not is_loopback(listener):
            raise UsageError(f"--host {host} lets other machines in; say with --token TOKEN what they must send")
        access = Access() if token is None and fleet is not None else Access(token)
        anyio.run(served.serve_http, listener, access)
    return served.misses


class _CassetteHost:
    """Holds what the sessions share, and begins them."""

    def __init__(self, cassette: Cassette, servers: dict[str, Server], fleet: Fleet | None, *, own_names: bool) -> None:
        self.cassette, self.servers = cassette, servers
        self.live: Sandbox | None = None
        self.misses = 0
        self._fleet, self._own_names = fleet, own_names

    def begin(self, identifier: str | None = None) -> _CassetteSession:
        """A client has connected; the identifier is the task, for servers that begin from a template of its own."""
        return _CassetteSession(self, identifier or "")

    def end(self, session: _CassetteSession) -> None:
        """Nothing is kept of a session."""

    async def serve_stdio(self) -> None:
        """Serve one client on our standard streams."""
        session = self.begin()
        async with AsyncExitStack() as stack:
            server = await self._start(stack, lambda ctx: session)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            await server.serve_stdio(tasks)
            tasks.cancel_scope.cancel()

    async def serve_http(self, listener: socket.socket, access: Access) -> None:
        """Serve any number of clients on a listening socket; each session begins where the recording did."""
        resolver = HttpSessionResolver(self)
        async with AsyncExitStack() as stack:
            server = await self._start(stack, resolver.session_of)
            print_address(listener, access)
            await serve(server.server, resolver, listener, access)

    async def _start(self, stack: AsyncExitStack, session_of: SessionOf) -> FleetServer:
        server = FleetServer(lambda: self.servers, session_of)
        if self._fleet is not None:
            logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-cassette-")))
            interpreter = Interpreter(self._fleet, names=self.servers, logs=logs)
            await stack.enter_async_context(interpreter)
            await interpreter.start()
            self.live = await stack.enter_async_context(interpreter.sandbox("cassette"))
        count = server.expose_tools(own_names=self._own_names)
        print_notice(f"offering {count} tools of {', '.join(self.servers)} from {self.cassette.path}")
        return server


class _CassetteSession(FleetSession):
    """Answers one client; a server with state by what it was sent before, as in the replay of a trajectory."""

    def __init__(self, host: _CassetteHost, task: str) -> None:
        self._host = host
        self._state = host.cassette.facts.state_of(task)
        self._step: list[tuple[str, JsonObject]] = []
        """What was sent to servers with state since `_state`: calls of one step happen together."""
        self._called = False

    @property
    def has_calls(self) -> bool:
        """Whether the client called a tool."""
        return self._called

    async def call(self, request: dict[str, Any], target: ServerTool, arguments: JsonObject) -> Answer:
        """The recorded answer; a miss is passed on where there are servers, else an error that names the nearest."""
        self._called = True
        answer = self._recorded(target, arguments)
        if answer is not None:
            return answer
        self._host.misses += 1
        if self._host.live is not None:
            return await self._host.live.call(target.server, target.tool, arguments)
        message = f"the cassette has no answer to {qualified_name(*target)} {_short(canonical(arguments))}"
        message += _nearest(self._host.cassette, target, arguments)
        print_notice(message)
        return RpcError(code=MISS, message=message)

    def _recorded(self, target: ServerTool, arguments: JsonObject) -> Answer | None:
        cassette = self._host.cassette
        facts = cassette.facts.servers.get(target.server)
        key = partial(answer_key, self._host.servers[target.server].digest or "", target.tool, arguments)
        if facts is None or not facts.stateful:
            line = cassette.answers.get(key(None))
            return line.answer if line is not None else None
        sent = (qualified_name(*target), arguments)
        after = next_state(self._state, self._step)
        for state, step in (
            (after, [sent]),
            (self._state, [*self._step, sent]),
        ):  # a step of its own, or one with these
            if (line := cassette.answers.get(key(state))) is not None:
                self._state, self._step = state, step
                return line.answer
        self._state, self._step = after, [sent]
        return None


def _nearest(cassette: Cassette, target: ServerTool, arguments: JsonObject) -> str:
    """The recorded call that is most like one, in words."""
    alike = [
        line for key, line in cassette.answers.items() if not is_stderr_key(key) and (line.server, line.tool) == target
    ]
    shown = [line.arguments for line in alike if line.arguments]
    if not shown:
        return f"; it has {len(alike)} answers of this tool" if alike else "; it has no answer of this tool"
    wanted = json.dumps(arguments, ensure_ascii=False)
    nearest = nearest_name(wanted, shown, min_score=0) or shown[0]
    order = " (with other calls before it)" if nearest.strip() in {wanted, canonical(arguments)} else ""
    return f"; the nearest recorded call is {_short(nearest)}{order}"


def _short(text: str) -> str:
    return one_line(text, 300)
