"""The fleet on loopback: streamable HTTP, each session a trajectory of its own."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from typing import Any, Final

import anyio
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from replay.errors import UsageError
from replay.recorder.session import Session, Sessions

LOOPBACK: Final = "127.0.0.1"
_SESSION_HEADER: Final = "mcp-session-id"
_LARGEST_BODY: Final = 256 << 20
_NAMES_OF_US: Final = [f"{name}:*" for name in (LOOPBACK, "localhost")]


class WebDesk:
    """Tells HTTP clients apart.

    Up to 2025-11-25 by the `Mcp-Session-Id` that the server gives. From 2026-07-28 on there are no sessions: one
    begins where a client discovers the server, and its later requests are known by their connection, else by the
    client's name. A client that asks at `/mcp/LABEL` is known by that label, which is the trajectory's id.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._of_key: dict[object, Session] = {}

    def session_of(self, ctx: ServerRequestContext[Any, Any]) -> Session | None:
        """The session that a request belongs to; the first request of one begins it."""
        request = ctx.request
        if not isinstance(request, Request) or ctx.request_id is None:
            return None
        label = request.path_params.get("label")
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            key = request.headers.get(_SESSION_HEADER)
            return None if key is None else self._session((key,), label)
        return self._modern(ctx, request, label)

    def end(self, session_id: str) -> None:
        """A client said goodbye."""
        session = self._of_key.pop((session_id,), None)
        if session is not None:
            self._sessions.end(session)

    def close(self) -> None:
        """Nobody will ask any more."""
        for session in dict.fromkeys(self._of_key.values()):
            self._sessions.end(session)
        self._of_key.clear()

    def _modern(self, ctx: ServerRequestContext[Any, Any], request: Request, label: str | None) -> Session:
        if label is not None:
            return self._session(("label", label), label)
        client, peer = ("client", str(_client_info(ctx))), ("peer", request.client)
        if ctx.method == "server/discover":
            known = self._of_key.get(peer)
            if known is None or known.recording.calls:
                self._of_key[peer] = self._of_key[client] = self._sessions.begin()
        elif peer not in self._of_key:
            self._of_key[peer] = self._session(client, None)
        return self._of_key[peer]

    def _session(self, key: object, label: str | None) -> Session:
        if key not in self._of_key:
            self._of_key[key] = self._sessions.begin(label)
        return self._of_key[key]


@contextlib.contextmanager
def listen(port: int) -> Iterator[socket.socket]:
    """A socket that listens on loopback.

    Raises:
        UsageError: the port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((LOOPBACK, port))
            door.listen()  # before anyone is told the address: an early client waits instead of being refused
        except OSError as error:
            raise UsageError(f"--http {port}: {error.strerror}; choose another port") from error
        yield door


async def serve(server: McpServer[Any], desk: WebDesk, door: socket.socket) -> None:
    """Serve until we are told to stop."""
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=_NAMES_OF_US,
        allowed_origins=[f"http://{name}" for name in _NAMES_OF_US],
    )
    manager = StreamableHTTPSessionManager(
        server, security_settings=security, max_request_body_size=_LARGEST_BODY, session_idle_timeout=None
    )
    endpoint = _Farewells(StreamableHTTPASGIApp(manager), desk)
    routes = [Route("/mcp", endpoint=endpoint), Route("/mcp/{label}", endpoint=endpoint)]
    app = Starlette(routes=routes, lifespan=lambda app: manager.run())
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, access_log=False)
    host = _Uvicorn(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_until_told, host)
        await host.serve(sockets=[door])
        tasks.cancel_scope.cancel()


class _Farewells:
    """Passes requests on, and tells the desk of a session that its client has ended."""

    def __init__(self, app: ASGIApp, desk: WebDesk) -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
        request = Request(scope)
        session_id = request.headers.get(_SESSION_HEADER)
        if request.method == "DELETE" and session_id is not None:
            self._desk.end(session_id)


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: re-raised ones would end the process before the recordings are finished."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _until_told(host: uvicorn.Server) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for _ in signals:
            host.should_exit = True


def _client_info(ctx: ServerRequestContext[Any, Any]) -> object:
    params = ctx.session.client_params
    return None if params is None else (params.client_info.name, params.client_info.version)
