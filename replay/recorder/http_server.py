"""The fleet on loopback: streamable HTTP, each session a trajectory of its own."""

from __future__ import annotations

import contextlib
import ipaddress
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol

import anyio
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from replay.errors import UsageError
from replay.recorder.fleet_server import FleetSession, stop_on_signal
from replay.recorder.recording import print_notice

LOOPBACK: Final = "127.0.0.1"
_SESSION_HEADER: Final = "mcp-session-id"
_MAX_BODY_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the fleet: every program and every page of a browser on this machine can reach its port."""

    token: str | None = field(default_factory=partial(secrets.token_urlsafe, 32))
    """What a client must send in its header `Authorization: Bearer TOKEN`; None where it need not."""
    origins: tuple[str, ...] = ()
    """Of the web pages that may; programs other than browsers name no origin."""


class FleetSessions(Protocol):
    """Begins and ends the sessions of clients."""

    def begin(self, identifier: str | None = None) -> FleetSession:
        """A client has connected."""

    def end(self, session: Any) -> None:
        """The client has disconnected."""


class HttpSessionResolver:
    """Finds the session of an HTTP request.

    Up to 2025-11-25 by the `Mcp-Session-Id` that the server gives. From 2026-07-28 on there are no sessions: one
    begins where a client discovers the server, and its later requests are known by their connection, else by the
    client's name. A client that asks at `/mcp/LABEL` is known by that label, which is the trajectory's id.
    """

    def __init__(self, sessions: FleetSessions) -> None:
        self._sessions = sessions
        self._sessions_by_key: dict[object, FleetSession] = {}

    def session_of(self, ctx: ServerRequestContext[Any, Any]) -> FleetSession | None:
        """The session that a request belongs to; the first request of one begins it."""
        request = ctx.request
        if not isinstance(request, Request) or ctx.request_id is None:
            return None
        label = request.path_params.get("label")
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            key = request.headers.get(_SESSION_HEADER)
            return None if key is None else self._session((key,), label)
        return self._sessionless(ctx, request, label)

    def end(self, session_id: str) -> None:
        """A client ended its session."""
        session = self._sessions_by_key.pop((session_id,), None)
        if session is not None:
            self._sessions.end(session)

    def close(self) -> None:
        """End all sessions: no more requests will come."""
        for session in dict.fromkeys(self._sessions_by_key.values()):
            self._sessions.end(session)
        self._sessions_by_key.clear()

    def _sessionless(self, ctx: ServerRequestContext[Any, Any], request: Request, label: str | None) -> FleetSession:
        if label is not None:
            return self._session(("label", label), label)
        client_key, address_key = ("client", str(_client_info(ctx))), ("address", request.client)
        if ctx.method == "server/discover":
            known = self._sessions_by_key.get(address_key)
            if known is None or known.has_calls:
                self._sessions_by_key[address_key] = self._sessions_by_key[client_key] = self._sessions.begin()
        elif address_key not in self._sessions_by_key:
            self._sessions_by_key[address_key] = self._session(client_key, None)
        return self._sessions_by_key[address_key]

    def _session(self, key: object, label: str | None) -> FleetSession:
        if key not in self._sessions_by_key:
            self._sessions_by_key[key] = self._sessions.begin(label)
        return self._sessions_by_key[key]


@contextlib.contextmanager
def listen(port: int, host: str = LOOPBACK) -> Iterator[socket.socket]:
    """A socket that listens, on loopback unless a host is named.

    Raises:
        UsageError: the port is taken, or the host is not an address of this machine.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()  # before the address is printed: an early client waits instead of being refused
        except OSError as error:
            other = "port" if host == LOOPBACK else "port, or another --host"
            raise UsageError(f"--http {port}: {error.strerror}; choose another {other}") from error
        yield listener


def is_loopback(listener: socket.socket) -> bool:
    """Whether no other machine can reach the port."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def print_address(listener: socket.socket, access: Access) -> None:
    """Tell the user where clients find the fleet, and what they must send."""
    host, port = listener.getsockname()
    print_notice(f"serving on http://{host}:{port}/mcp")
    if access.token is not None:
        print_notice(f"to those who send the header Authorization: Bearer {access.token}")


async def serve(server: McpServer[Any], resolver: HttpSessionResolver, listener: socket.socket, access: Access) -> None:
    """Serve until a signal to stop arrives, and end all sessions."""
    port = listener.getsockname()[1]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=is_loopback(listener),  # elsewhere the token keeps web pages out
        allowed_hosts=[f"{LOOPBACK}:{port}", f"localhost:{port}"],
        allowed_origins=list(access.origins),
    )
    manager = StreamableHTTPSessionManager(
        server, security_settings=security, max_request_body_size=_MAX_BODY_BYTES, session_idle_timeout=None
    )
    endpoint = _Gate(StreamableHTTPASGIApp(manager), resolver, access.token)
    routes = [Route("/mcp", endpoint=endpoint), Route("/mcp/{label}", endpoint=endpoint)]
    app = Starlette(routes=routes, lifespan=lambda app: manager.run())
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, access_log=False)
    uvicorn_server = _UvicornWithoutSignals(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, partial(setattr, uvicorn_server, "should_exit", True))
        await uvicorn_server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()
    resolver.close()


class _Gate:
    """Passes on the requests that bear the token, refuses the others, and ends a session that its client deletes."""

    def __init__(self, app: ASGIApp, resolver: HttpSessionResolver, token: str | None) -> None:
        self._app, self._resolver = app, resolver
        self._expected = None if token is None else f"bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = f"{scheme.lower()} {token.strip()}".encode()
        if self._expected is not None and not secrets.compare_digest(given, self._expected):
            why = "This server wants the header Authorization: Bearer TOKEN\n"
            refusal = PlainTextResponse(why, HTTPStatus.UNAUTHORIZED, {"www-authenticate": "Bearer"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
        session_id = request.headers.get(_SESSION_HEADER)
        if request.method == "DELETE" and session_id is not None:
            self._resolver.end(session_id)


class _UvicornWithoutSignals(uvicorn.Server):
    """Leaves the signals to us: re-raised ones would end the process before the recordings are finished."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _client_info(ctx: ServerRequestContext[Any, Any]) -> object:
    params = ctx.session.client_params
    return None if params is None else (params.client_info.name, params.client_info.version)
