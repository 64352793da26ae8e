"""A JSON-RPC client: matches answers to requests, and refuses what a server asks of us.

The SDK's session parses every answer into its models and rejects what breaks the specification; a replay must see
what the server really sent. Its `JSONRPCDispatcher.send_raw_request` gives raw results, but loses an error whose code
is not a number or that comes without an id.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup

from replay.json_values import encode
from replay.records import JsonObject
from replay.safety.text import one_line

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the longest message that is read."""
_METHOD_NOT_FOUND: Final = -32601
_MAX_NOTE_LENGTH: Final = 100
_CANCEL_TIMEOUT: Final = 1.0
_MAX_ID_GAP: Final = 1 << 12
"""Ids grow by random steps: a server cannot answer a request before it was sent."""
_MAX_ID_DIGITS: Final = 15
_MAX_REFUSALS: Final = 256
"""Answers to the server's own requests that wait to be read by it."""
REFUSAL: Final = "{method} is not available in a replay"
"""What a server hears that asks its client for anything; the rule `answer.needs-a-client` knows the sentence."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something arrived that is not a message."""

    why: str
    request_id: int | None = None
    """The request that it was the answer to, where that can be told."""
    is_answer: bool = False
    """Whether it was meant as an answer: too long, or broken JSON-RPC; else it is mere noise."""
    lost: bool = False
    """Whether the answer never arrived, because the connection broke."""


Incoming = JsonObject | Unreadable


def encoded(message: JsonObject) -> bytes:
    """A message as it goes over the wire, in ASCII: a server may take it for any encoding."""
    line = encode(message)
    return line if line.isascii() else json.dumps(message, separators=(",", ":")).encode()


class ChannelClosedError(Exception):
    """The connection ended; the text says how."""


class Channel(Protocol):
    """Both directions of a connection."""

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """Send a message; headers matter to HTTP only. Raises ChannelClosedError."""

    async def receive(self) -> Incoming:
        """The next thing that arrived. Raises ChannelClosedError at the end."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection ended before the answer came."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The error object that the server sent."""

    error: JsonObject


@dataclass(frozen=True, slots=True)
class Returned:
    """The result that the server sent, as it is."""

    result: Any


RpcReply = Returned | Failed | Unreadable | Closed


@dataclass
class Exchange:
    """When a request went out, when its answer was read or given up, and what its server logged before."""

    sent: float | None = None
    ended: float | None = None
    log_mark: int = 0
    """Where the log of the server's stderr ended before it was asked."""

    @property
    def seconds(self) -> float | None:
        """What the server took; None where it was not asked."""
        return None if self.sent is None or self.ended is None else round(self.ended - self.sent, 6)


class _Waiter:
    """A request whose answer has not come yet."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._exchange.sent = time.monotonic()
        self._arrived = anyio.Event()
        self._reply: RpcReply | None = None

    def resolve(self, reply: RpcReply) -> bool:
        """Take an answer; the first one stands. Whether this one was the first."""
        if self._reply is not None:
            return False
        self._reply = reply
        self._exchange.ended = time.monotonic()
        self._arrived.set()
        return True

    async def result(self) -> RpcReply:
        """The answer, once it is there."""
        await self._arrived.wait()
        return self._reply or Closed("the connection ended")


class JsonRpcClient:
    """Our end of a connection."""

    def __init__(self, channel: Channel, note: Callable[[str], None]) -> None:
        self._channel, self._note = channel, note
        self._waiting: dict[int, _Waiter] = {}
        self._last_id = secrets.randbelow(_MAX_ID_GAP)
        self._refusals: TaskGroup | None = None
        self._refusals_under_way = 0
        self._closed: Closed | None = None
        self.messages_received = 0
        """How many things have arrived: tells a slow server from a dead one."""
        self.on_notification: Callable[[str, JsonObject], None] = lambda method, params: None
        self.headers: dict[str, str] = {}
        """Of every message, for HTTP."""
        self.envelope: JsonObject = {}
        """What every request carries under `_meta`; those that carry something name their method in a header too."""

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._closed is not None

    async def run(self) -> None:
        """Read until the connection ends; then every waiting request is answered `Closed`."""
        try:
            async with anyio.create_task_group() as refusals:
                self._refusals = refusals
                await self._read()
                refusals.cancel_scope.cancel()
        finally:
            self._refusals = None
            self.close("the connection ended")

    async def _read(self) -> None:
        try:
            while True:
                self._handle(await self._channel.receive())
        except ChannelClosedError as end:
            self.close(str(end))

    def _handle(self, incoming: Incoming) -> None:
        self.messages_received += 1
        if isinstance(incoming, Unreadable):
            self._unreadable(incoming)
        elif isinstance(incoming.get("method"), str) and incoming.get("id") is not None:
            self._start_refusal(incoming["id"], incoming["method"])
        else:
            self._take(incoming)

    def _start_refusal(self, request_id: Any, method: str) -> None:
        """Refusals are written beside the reading: a server that does not read must not keep us from it."""
        if self._refusals is None:
            return
        if self._refusals_under_way >= _MAX_REFUSALS:
            self._note("asks for more than it reads the answers of; the rest gets none")
            return
        self._refusals_under_way += 1
        self._refusals.start_soon(self._refuse, request_id, method)

    def close(self, why: str) -> None:
        """Answer all that waits, and all that will be asked, with `Closed`; the first reason stands."""
        self._closed = self._closed or Closed(why)
        for waiter in self._waiting.values():
            waiter.resolve(self._closed)
        self._waiting.clear()

    async def request(
        self, method: str, params: JsonObject | None = None, exchange: Exchange | None = None
    ) -> RpcReply:
        """Send a request and wait for what comes of it. When cancelled, tells the server so.

        Args:
            method: of the protocol.
            params: None for none.
            exchange: takes down how long the server takes.
        """
        if self._closed is not None:
            return self._closed
        exchange, headers = exchange or Exchange(), self.headers
        if self.envelope:
            params = {**(params or {}), "_meta": self.envelope}
            headers = {**headers, "mcp-method": method}
        request_id = self._next_id()
        message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        waiter = self._waiting[request_id] = _Waiter(exchange)
        try:
            await self._channel.send(message, headers)
            return await waiter.result()
        except ChannelClosedError as end:
            return self._closed or Closed(str(end))
        except anyio.get_cancelled_exc_class():
            if method == "tools/call":
                await self._say_cancelled(request_id, headers)
            raise
        finally:
            exchange.ended = exchange.ended or time.monotonic()
            self._waiting.pop(request_id, None)

    async def notify(
        self, method: str, params: JsonObject | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a notification, with headers of its own where it has them; nothing happens on an ended connection."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        try:
            await self._channel.send(message, self.headers if headers is None else headers)
        except ChannelClosedError as end:
            self.close(str(end))

    async def _say_cancelled(self, request_id: int, headers: Mapping[str, str]) -> None:
        with anyio.move_on_after(_CANCEL_TIMEOUT, shield=True):
            await self.notify("notifications/cancelled", {"requestId": request_id}, headers)

    def _next_id(self) -> int:
        self._last_id += 1 + secrets.randbelow(_MAX_ID_GAP)
        return self._last_id

    def _take(self, message: JsonObject) -> None:
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            self.on_notification(method, params if isinstance(params, dict) else {})
        elif "result" in message or "error" in message:
            self._answer(message)
        else:
            self._note(f"sent JSON that is not a JSON-RPC message: {one_line(str(message), _MAX_NOTE_LENGTH)}")

    def _answer(self, message: JsonObject) -> None:
        error = message.get("error")
        reply: RpcReply
        if error is not None:
            reply = Failed(error if isinstance(error, dict) else {"message": str(error)})
        else:
            reply = Returned(message.get("result"))
        request_id = _as_number(message.get("id"))
        if request_id is None and error is not None and len(self._waiting) == 1:
            request_id = next(iter(self._waiting))
            self._note("sent an error without the id of the request")
        waiter = self._waiting.get(request_id) if request_id is not None else None
        if waiter is not None and not waiter.resolve(reply):
            self._note("answered a request more than once; the first answer was taken")

    def _unreadable(self, what: Unreadable) -> None:
        if not what.is_answer:
            self._note("printed text on stdout that is not a JSON-RPC message")
            return
        if what.request_id is not None:
            meant = [what.request_id] if what.request_id in self._waiting else []
        else:
            meant = list(self._waiting)
        for request_id in meant:
            self._waiting[request_id].resolve(what)

    async def _refuse(self, request_id: Any, method: str) -> None:
        """Answer a server's own request: a ping as it must be, all else with a refusal."""
        answer: JsonObject = {"jsonrpc": "2.0", "id": request_id}
        if method == "ping":
            answer["result"] = {}
        else:
            self._note(f"asked for {one_line(method, _MAX_NOTE_LENGTH)}, which a replay refuses")
            answer["error"] = {"code": _METHOD_NOT_FOUND, "message": REFUSAL.format(method=method)}
        try:
            await self._channel.send(answer, {})
        except ChannelClosedError as end:
            self.close(str(end))
        finally:
            self._refusals_under_way -= 1


def _as_number(request_id: Any) -> int | None:
    if isinstance(request_id, bool):
        return None
    if isinstance(request_id, str) and request_id.isdecimal() and len(request_id) <= _MAX_ID_DIGITS:
        return int(request_id)
    return request_id if isinstance(request_id, int) else None
