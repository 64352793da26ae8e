"""JSON-RPC over HTTP: streamable, where each answer comes in its POST's response, and over the events of before 2025.

The SDK's `streamable_http_client` tells no HTTP status from another, ends all calls when one cannot connect, has no
limit on an answer's size, and parses answers into its models; its `sse_client` breaks the connection at an event of
more than a megabyte, and a POST that is refused leaves its caller waiting (tests/interpreter/test_sdk.py and
test_http.py show it). Events are read by httpx2, up to our own limit; logging in is the SDK's, see `oauth`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared.inbound import encode_header_value

from replay.interpreter.session.http_client import (
    HTTP_FAILURES,
    MAX_REDIRECTS,
    TOO_LONG,
    body_of,
    events_of,
    failure_in_words,
    http_client,
    is_same_origin,
    media_type_of,
    parsed_json,
    redirect_within_origin,
    status_in_words,
)
from replay.interpreter.session.json_rpc import MAX_ANSWER_BYTES, ChannelClosedError, Incoming, Unreadable
from replay.interpreter.session.launch import Launch
from replay.interpreter.workspace import task_group
from replay.records import JsonObject
from replay.safety.text import one_line

_CLOSE_TIMEOUT: Final = 2.0
_SESSION: Final = "mcp-session-id"
_ACCEPT: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_ACCEPT_EVENTS: Final = {"accept": "text/event-stream", "cache-control": "no-store"}
_MAX_QUEUED: Final = 256
_NOT_A_MESSAGE: Final = "an event that is not a JSON-RPC message"


@asynccontextmanager
async def remote_channel(launch: Launch, auth: httpx2.Auth | None) -> AsyncIterator[HttpChannel | LegacySseChannel]:
    """Connect to a server with a URL; end the session at the end.

    Raises:
        CannotStartError: the URL or a header is not one.
    """
    assert launch.url is not None
    async with http_client(launch.url, launch.headers, auth) as client, task_group() as tasks:
        kind = LegacySseChannel if launch.transport == "sse" else HttpChannel
        channel = kind(client, launch.url, tasks)
        try:
            yield channel
        finally:
            await channel.close()


class _ReceivingChannel:
    """A channel to a URL, whose messages wait in a queue until they are received."""

    _ended = "the server ended the session"

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        self._client, self._url, self._tasks = client, url, tasks
        self._put, self._take = anyio.create_memory_object_stream[Incoming](_MAX_QUEUED)
        self._failure: str | None = None
        """Why nothing more comes, where that is known."""

    async def receive(self) -> Incoming:
        """The next message of the server."""
        try:
            return await self._take.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ChannelClosedError(self._failure or self._ended) from None

    async def close(self) -> None:
        """Nothing is received any more."""
        self._put.close()
        self._take.close()

    async def _deliver(self, message: Any, otherwise: str) -> None:
        """Queue a message, or what is said of it where it is none."""
        await self._put.send(message if isinstance(message, dict) else Unreadable(otherwise))

    async def _unusable(self, request_id: Any, why: str, *, lost: bool = False) -> None:
        """Say what came instead of an answer; once the session has ended nobody is interested in it."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            await self._put.send(Unreadable(why, request_id, is_answer=True, lost=lost))


class HttpChannel(_ReceivingChannel):
    """Streamable HTTP."""

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        super().__init__(client, url, tasks)
        self._session: str | None = None
        self._protocol: str | None = None
        self._posts: dict[Any, anyio.CancelScope] = {}

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """POST a message; what it brings is received."""
        sent = dict(headers)
        negotiated = None if message.get("method") == "initialize" else self._protocol
        self._protocol = sent.get("mcp-protocol-version", negotiated)
        name = (message.get("params") or {}).get("name")
        if "mcp-method" in sent and isinstance(name, str):
            sent["mcp-name"] = encode_header_value(name)
        if message.get("method") == "notifications/cancelled":
            await self._cancel(message, sent)
        elif "method" in message and "id" in message:
            scope = self._posts[message["id"]] = anyio.CancelScope()
            self._tasks.start_soon(self._ask, message, sent, scope)
        else:
            self._tasks.start_soon(self._tell, message, sent)

    async def close(self) -> None:
        """End the session, and what is under way."""
        for scope in self._posts.values():
            scope.cancel()
        if self._session:
            with anyio.move_on_after(_CLOSE_TIMEOUT, shield=True), suppress(*HTTP_FAILURES):
                await self._client.delete(self._url, headers=self._headers({}))
        await super().close()

    async def _cancel(self, message: JsonObject, headers: dict[str, str]) -> None:
        """Closing the response is the signal since 2026-07-28; before, the notification is."""
        if "mcp-method" not in headers:
            await self._tell(message, headers)
        scope = self._posts.get(message["params"].get("requestId"))
        if scope is not None:
            scope.cancel()

    async def _tell(self, message: JsonObject, headers: dict[str, str]) -> None:
        """Send what has no answer; a failure will show in the next request."""
        with suppress(*HTTP_FAILURES):
            request = self._client.stream("POST", self._url, **body_of(message, self._headers(headers)))
            async with request:
                return  # whatever the body says, nobody reads it

    async def _ask(self, message: JsonObject, headers: dict[str, str], scope: anyio.CancelScope) -> None:
        request_id = message["id"]
        try:
            with scope:
                await self._post(message, headers)
        except HTTP_FAILURES as problem:
            await self._unusable(request_id, failure_in_words(problem), lost=not isinstance(problem, httpx2.SSEError))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the session has ended, and with it the interest in the answer
        finally:
            if self._posts.get(request_id) is scope:
                del self._posts[request_id]

    async def _post(self, message: JsonObject, headers: dict[str, str]) -> None:
        for _ in range(MAX_REDIRECTS + 1):
            request = self._client.stream("POST", self._url, **body_of(message, self._headers(headers)))
            async with request as response:
                moved = redirect_within_origin(self._url, response)
                if moved is None:
                    await self._take_response(message, response)
                    return
                self._url = moved
                if message["method"] == "tools/call":
                    why = f"the server sent the call on ({status_in_words(response)})"
                    await self._unusable(
                        message["id"], f"{why}; it may have been done, and is not sent again; the next ones go there"
                    )
                    return
        await self._unusable(message["id"], "the server redirects without end")

    async def _take_response(self, message: JsonObject, response: httpx2.Response) -> None:
        request_id = message["id"]
        if message["method"] == "initialize":
            self._session = response.headers.get(_SESSION)
        kind = media_type_of(response)
        if response.status_code == HTTPStatus.NOT_FOUND and self._session:
            self._put.close()
        elif kind == "application/json":
            await self._take_json(request_id, response)
        elif response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            await self._unusable(request_id, status_in_words(response))
        elif kind == "text/event-stream":
            await self._take_events(request_id, response)
        else:
            what = f"{status_in_words(response)}, {one_line(kind, 60) or 'no content type'}"
            await self._unusable(request_id, f"expected JSON or an event stream, got {what}")

    async def _take_json(self, request_id: Any, response: httpx2.Response) -> None:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                await self._unusable(request_id, TOO_LONG)
                return
        message = parsed_json(bytes(body))
        failed = response.status_code >= HTTPStatus.BAD_REQUEST
        if isinstance(message, dict) and ("result" in message or "error" in message) and "jsonrpc" in message:
            await self._put.send({**message, "id": request_id})
        elif isinstance(message, list) and not failed:
            for part in message:
                await self._deliver(part, "a batch with a non-message")
        else:
            await self._unusable(
                request_id, status_in_words(response) if failed else "the response is not a JSON-RPC message"
            )

    async def _take_events(self, request_id: Any, response: httpx2.Response) -> None:
        async for event in events_of(response, MAX_ANSWER_BYTES):
            if event.event != "message" or not event.data:
                continue
            message = parsed_json(event.data)
            await self._deliver(message, _NOT_A_MESSAGE)
            is_answer = isinstance(message, dict) and "method" not in message
            if is_answer and message.get("id") in (request_id, str(request_id)):
                return
        await self._unusable(request_id, "the event stream ended before the answer came", lost=True)

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        session = {_SESSION: self._session} if self._session else {}
        protocol = {"mcp-protocol-version": self._protocol} if self._protocol else {}
        return {**_ACCEPT, **session, **protocol, **headers}


class LegacySseChannel(_ReceivingChannel):
    """The transport of 2024-11-05: answers come as events of one GET, messages go out as POSTs."""

    _ended = "the server closed the event stream"

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        super().__init__(client, url, tasks)
        self._endpoint: str | None = None
        """Where messages are posted; the server says so in its first event."""
        self._connected_or_failed = anyio.Event()
        tasks.start_soon(self._listen)

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """POST a message, as soon as the server has said where to; what it brings is received."""
        await self._connected_or_failed.wait()
        self._tasks.start_soon(self._post, message, dict(headers))

    async def _listen(self) -> None:
        """Read events until the stream ends."""
        try:
            await self._connect()
        except HTTP_FAILURES as problem:
            why = failure_in_words(problem)
            self._failure = why if self._endpoint is None else f"the event stream broke ({why})"
        finally:
            if self._endpoint is None:
                self._failure = self._failure or "the event stream ended before it named an endpoint"
            else:
                self._put.close()
            self._connected_or_failed.set()

    async def _connect(self) -> None:
        for _ in range(MAX_REDIRECTS + 1):
            async with self._client.stream("GET", self._url, headers=_ACCEPT_EVENTS) as response:
                moved = redirect_within_origin(self._url, response)
                if moved is None:
                    await self._read_events(response)
                    return
                self._url = moved
        self._failure = "the server redirects without end"

    async def _read_events(self, response: httpx2.Response) -> None:
        if response.status_code != HTTPStatus.OK:
            self._failure = status_in_words(response)
            return
        if media_type_of(response) != "text/event-stream":
            what = one_line(media_type_of(response), 60) or "no content type"
            self._failure = f"expected an event stream, got {status_in_words(response)}, {what}"
            return
        async for event in events_of(response, MAX_ANSWER_BYTES):
            if event.event == "endpoint":
                if not self._take_endpoint(event.data):
                    return
            elif event.event == "message" and event.data:
                await self._deliver(parsed_json(event.data), _NOT_A_MESSAGE)

    def _take_endpoint(self, place: str) -> bool:
        try:
            endpoint = urljoin(self._url, place)
        except ValueError:
            self._failure = "its endpoint is not a URL"
            return False
        if not is_same_origin(self._url, endpoint):
            self._failure = f"its endpoint {one_line(endpoint, 100)} is on another origin, which gets nothing of ours"
            return False
        self._endpoint = endpoint
        self._connected_or_failed.set()
        return True

    async def _post(self, message: JsonObject, headers: dict[str, str]) -> None:
        failure, lost = self._failure, True
        if self._endpoint is not None and failure is None:
            try:
                async with self._client.stream("POST", self._endpoint, **body_of(message, headers)) as response:
                    if response.is_success:
                        return
                    failure, lost = status_in_words(response), False
            except HTTP_FAILURES as problem:
                failure = failure_in_words(problem)
        if "id" in message and "method" in message:
            await self._unusable(message["id"], failure or "the event stream ended", lost=lost)
