"""Agreeing on a protocol version: servers of 2026-07-28 are discovered, older ones initialized.

The policy is that of the SDK's connect-time negotiation (`Client(mode="auto")`), which refuses a server that does not
say its version (tests/interpreter/test_sdk.py); here that is noted, and the server used. The SDK has the versions and
keys that stand here too, and takes longer to import than all else that a replay needs; a test holds them equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from replay import __version__
from replay.interpreter.session.json_rpc import Closed, Failed, JsonRpcClient, Returned, RpcReply, Unreadable
from replay.interpreter.session.launch import CannotStartError
from replay.records import JsonObject
from replay.safety.text import one_line

HANDSHAKE_PROTOCOL_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Agreed on by `initialize`, oldest first."""
MODERN_PROTOCOL_VERSIONS: Final = ("2026-07-28",)
"""Found by `server/discover`; each request carries its own envelope. Oldest first."""
LATEST_HANDSHAKE_VERSION: Final = HANDSHAKE_PROTOCOL_VERSIONS[-1]
LATEST_MODERN_VERSION: Final = MODERN_PROTOCOL_VERSIONS[-1]
PROTOCOL_VERSION_META_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_META_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_META_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_META_KEY: Final = "io.modelcontextprotocol/serverInfo"
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022
"""The code of the JSON-RPC error that names the versions a server does speak."""
_PROTOCOL_VERSION_HEADER: Final = "mcp-protocol-version"
_MAX_NOTES: Final = 50
_PROBE_TIMEOUT: Final = 10.0
"""Seconds for `server/discover`: an old server may never answer a method that it does not know."""


class ServerHistory:
    """Breaches of the specification that were met, and how to open a conversation."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self.login: object | None = None
        """How the server is logged in to, where it wants that; see `oauth.login_of`."""
        self.tools_complete = True
        """Whether the list of its tools was read to its end, and has not changed since."""
        self.wants_initialize = False
        """Whether it is an older server: the next connection is initialized without asking first."""

    def note(self, sentence: str) -> None:
        """Keep a sentence, once, unless there are too many already."""
        if len(self._sentences) < _MAX_NOTES:
            self._sentences.setdefault(sentence)

    @property
    def notes(self) -> tuple[str, ...]:
        """All sentences, in the order in which they came up."""
        return tuple(self._sentences)


def _client_info() -> JsonObject:
    return {"name": "replay", "version": __version__}


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Who the server says it is, and which version of the protocol it speaks."""

    title: str | None
    version: str | None
    protocol: str
    capabilities: JsonObject


class DisconnectedOnProbeError(CannotStartError):
    """The server ended the connection when it was asked for its versions: some older ones do. Try `initialize`."""


async def negotiate(client: JsonRpcClient, history: ServerHistory) -> ServerIdentity:
    """Find out which protocol the server speaks, and agree on a version. The policy is the SDK's `mode="auto"`.

    Raises:
        CannotStartError: the server refuses, or ends the connection.
    """
    if history.wants_initialize:
        answer = await _initialize(client)
        if not isinstance(answer, Failed) or _offered(answer) is None:
            return await _initialized(client, answer, history.note)
    version = LATEST_MODERN_VERSION
    for last_attempt in (False, True):
        probe = await _discover(client, version)
        offered = _offered(probe)
        modern = _newest_modern(offered)
        if isinstance(probe, Failed) and offered is not None:
            if modern and not last_attempt:
                version = modern
                continue
            if not set(HANDSHAKE_PROTOCOL_VERSIONS).intersection(offered):
                raise CannotStartError(f"it speaks only MCP {', '.join(offered)}, which this replay does not know")
        if isinstance(probe, Returned) and modern:
            _speak(client, modern)
            return _discovered(probe.result, modern)
        answer = await _initialize(client)
        modern = _newest_modern(_offered(answer))
        if not last_attempt and isinstance(answer, Failed) and modern:
            version = modern
            continue
        history.wants_initialize = True
        return await _initialized(client, answer, history.note)
    raise AssertionError("the second attempt returns or raises")


async def _discover(client: JsonRpcClient, version: str) -> RpcReply | None:
    _speak(client, version)
    with anyio.move_on_after(_PROBE_TIMEOUT):
        reply = await client.request("server/discover")
        if isinstance(reply, Closed):
            raise DisconnectedOnProbeError(f"{reply.why} before it answered")
        if isinstance(reply, Unreadable) and reply.lost:
            raise CannotStartError(reply.why)
        return reply
    return None


async def _initialize(client: JsonRpcClient) -> RpcReply:
    client.headers, client.envelope = {}, {}
    params = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": _client_info()}
    return await client.request("initialize", params)


async def _initialized(client: JsonRpcClient, answer: RpcReply, note: Callable[[str], None]) -> ServerIdentity:
    if isinstance(answer, Closed):
        raise CannotStartError(f"{answer.why} before it answered")
    if isinstance(answer, Failed):
        raise CannotStartError(
            f"it refused to initialize: {one_line(str(answer.error.get('message') or answer.error), 200)}"
        )
    if isinstance(answer, Unreadable):
        if answer.lost:
            raise CannotStartError(answer.why)
        raise CannotStartError(f"its answer to initialize cannot be used: {answer.why}")
    if not isinstance(answer.result, dict):
        raise CannotStartError("its answer to initialize cannot be used: the result is not a JSON object")
    result = answer.result
    protocol = result.get("protocolVersion")
    if not isinstance(protocol, str):
        note("its answer to initialize has no protocolVersion")
        protocol = LATEST_HANDSHAKE_VERSION
    elif protocol not in HANDSHAKE_PROTOCOL_VERSIONS:
        note(f"it speaks MCP {one_line(protocol, 40)}, which the initialize handshake does not have")
    client.headers = {_PROTOCOL_VERSION_HEADER: protocol}
    await client.notify("notifications/initialized")
    return _identity(result.get("serverInfo"), protocol, result.get("capabilities"), note)


def _discovered(result: JsonObject, version: str) -> ServerIdentity:
    meta = result.get("_meta")
    info = meta.get(SERVER_INFO_META_KEY) if isinstance(meta, dict) else None
    return _identity(info, version, result.get("capabilities"), lambda text: None)


def _identity(info: Any, protocol: str, capabilities: Any, note: Callable[[str], None]) -> ServerIdentity:
    known: Mapping[str, Any] = info if isinstance(info, dict) else {}
    if not isinstance(known.get("name"), str) or not isinstance(known.get("version"), str):
        note("it does not say its name and version (serverInfo)")
    return ServerIdentity(
        title=_text_or_none(known.get("name")),
        version=_text_or_none(known.get("version")),
        protocol=protocol,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
    )


def _offered(reply: RpcReply | None) -> tuple[str, ...] | None:
    """The versions that a server names, in its answer to discover or in the error that refuses ours."""
    named: Any = None
    if isinstance(reply, Returned) and isinstance(reply.result, dict):
        named = reply.result.get("supportedVersions")
    elif isinstance(reply, Failed) and reply.error.get("code") == UNSUPPORTED_PROTOCOL_VERSION:
        data = reply.error.get("data")
        named = data.get("supported") if isinstance(data, dict) else None
    return tuple(version for version in named if isinstance(version, str)) if isinstance(named, list) else None


def _newest_modern(offered: tuple[str, ...] | None) -> str | None:
    return next((version for version in reversed(MODERN_PROTOCOL_VERSIONS) if version in (offered or ())), None)


def _speak(client: JsonRpcClient, version: str) -> None:
    """Let each request carry a modern version of the protocol, and our identity."""
    client.headers = {_PROTOCOL_VERSION_HEADER: version}
    client.envelope = {
        PROTOCOL_VERSION_META_KEY: version,
        CLIENT_INFO_META_KEY: _client_info(),
        CLIENT_CAPABILITIES_META_KEY: {},
    }


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
