"""JSON-RPC over streamable HTTP: every request is a POST, and its answer comes in that POST's response.

The SDK's `streamable_http_client` tells no HTTP status from another, ends all calls when one cannot connect, has no
limit on an answer's size, and parses answers into its models (tests/interpreter/test_sdk.py and test_http.py show it).
Events are read by httpx2; logging in is the SDK's, see `oauth`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared.inbound import encode_header_value

from replay.interpreter.session.http_client import (
    HTTP_FAILURES,
    MAX_REDIRECTS,
    body_of,
    events_of,
    failure_in_words,
    http_client,
    media_type_of,
    parsed_json,
    redirect_within_origin,
    status_in_words,
    too_long,
)
from replay.interpreter.session.json_rpc import MAX_ANSWER_BYTES, ChannelClosedError, Incoming, Unreadable
from replay.interpreter.workspace import task_group
from replay.records import JsonObject
from replay.safety.text import one_line

_CLOSE_TIMEOUT: Final = 2.0
_SESSION: Final = "mcp-session-id"
_ACCEPT: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_MAX_QUEUED: Final = 256


class HttpChannel:
    """A channel to a URL."""

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        self._client, self._url, self._tasks = client, url, tasks
        self._session: str | None = None
        self._protocol: str | None = None
        self._posts: dict[Any, anyio.CancelScope] = {}
        self._put, self._take = anyio.create_memory_object_stream[Incoming](_MAX_QUEUED)

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

    async def receive(self) -> Incoming:
        """The next message of any response."""
        try:
            return await self._take.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ChannelClosedError("the server ended the session") from None

    async def close_session(self) -> None:
        """End the session, and what is under way."""
        for scope in self._posts.values():
            scope.cancel()
        if self._session:
            with anyio.move_on_after(_CLOSE_TIMEOUT, shield=True), suppress(*HTTP_FAILURES):
                await self._client.delete(self._url, headers=self._headers({}))
        self._put.close()
        self._take.close()

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
            why = failure_in_words(problem)
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                too_big = isinstance(problem, httpx2.SSEError)
                await self._put.send(Unreadable(why, request_id, is_answer=True, lost=not too_big))
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
                await self._unusable(request_id, too_long())
                return
        message = parsed_json(bytes(body))
        failed = response.status_code >= HTTPStatus.BAD_REQUEST
        if isinstance(message, dict) and ("result" in message or "error" in message) and "jsonrpc" in message:
            await self._put.send({**message, "id": request_id})
        elif isinstance(message, list) and not failed:
            for part in message:
                await self._put.send(part if isinstance(part, dict) else Unreadable("a batch with a non-message"))
        else:
            await self._unusable(
                request_id, status_in_words(response) if failed else "the response is not a JSON-RPC message"
            )

    async def _take_events(self, request_id: Any, response: httpx2.Response) -> None:
        async for event in events_of(response, MAX_ANSWER_BYTES):
            if event.event != "message" or not event.data:
                continue
            message = parsed_json(event.data)
            if not isinstance(message, dict):
                await self._put.send(Unreadable("an event that is not a JSON-RPC message"))
                continue
            await self._put.send(message)
            if "method" not in message and message.get("id") in (request_id, str(request_id)):
                return
        await self._put.send(
            Unreadable("the event stream ended before the answer came", request_id, is_answer=True, lost=True)
        )

    async def _unusable(self, request_id: Any, why: str) -> None:
        await self._put.send(Unreadable(why, request_id, is_answer=True))

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        session = {_SESSION: self._session} if self._session else {}
        protocol = {"mcp-protocol-version": self._protocol} if self._protocol else {}
        return {**_ACCEPT, **session, **protocol, **headers}


@asynccontextmanager
async def http_channel(url: str, headers: Mapping[str, str], auth: httpx2.Auth | None) -> AsyncIterator[HttpChannel]:
    """Connect to a URL; end the session at the end.

    Raises:
        CannotStartError: the URL or a header is not one.
    """
    async with http_client(url, headers, auth) as client, task_group() as tasks:
        channel = HttpChannel(client, url, tasks)
        try:
            yield channel
        finally:
            await channel.close_session()
