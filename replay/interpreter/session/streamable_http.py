"""JSON-RPC over streamable HTTP: every request is a POST, and its answer comes in that POST's response.

The SDK's transport tells no HTTP status from another and parses answers into its models; see `client`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared.inbound import encode_header_value

from replay.interpreter.session.channel import MAX_ANSWER_BYTES, ChannelClosedError, Incoming, Unreadable
from replay.interpreter.session.launch import CannotStartError
from replay.interpreter.session.sse import events_of
from replay.interpreter.tasks import task_group
from replay.records import JsonObject
from replay.text import one_line

_CONNECT_TIMEOUT: Final = 10.0
_CLOSE_TIMEOUT: Final = 2.0
_SESSION: Final = "mcp-session-id"
_ACCEPT: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_MAX_REDIRECTS: Final = 3
_WAITING: Final = 256


class HttpChannel:
    """A channel to a URL."""

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        self._client, self._url, self._tasks = client, url, tasks
        self._session: str | None = None
        self._protocol: str | None = None
        self._posts: dict[Any, anyio.CancelScope] = {}
        self._put, self._take = anyio.create_memory_object_stream[Incoming](_WAITING)

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
            with anyio.move_on_after(_CLOSE_TIMEOUT, shield=True), suppress(httpx2.HTTPError, httpx2.StreamError):
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
        with suppress(httpx2.HTTPError, httpx2.StreamError):
            await self._client.post(self._url, json=message, headers=self._headers(headers))

    async def _ask(self, message: JsonObject, headers: dict[str, str], scope: anyio.CancelScope) -> None:
        request_id = message["id"]
        try:
            with scope:
                await self._post(message, headers)
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as problem:
            why = one_line(f"{type(problem).__name__}: {problem}", 200)
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._put.send(Unreadable(why, request_id, is_answer=True, lost=True))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the session has ended, and with it the interest in the answer
        finally:
            if self._posts.get(request_id) is scope:
                del self._posts[request_id]

    async def _post(self, message: JsonObject, headers: dict[str, str]) -> None:
        for _ in range(_MAX_REDIRECTS + 1):
            request = self._client.stream("POST", self._url, json=message, headers=self._headers(headers))
            async with request as response:
                moved = _new_place(self._url, response)
                if moved is None:
                    await self._take_response(message, response)
                    return
                self._url = moved
        await self._unusable(message["id"], "the server redirects without end")

    async def _take_response(self, message: JsonObject, response: httpx2.Response) -> None:
        request_id = message["id"]
        if message["method"] == "initialize":
            self._session = response.headers.get(_SESSION)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == HTTPStatus.NOT_FOUND and self._session:
            self._put.close()
        elif kind == "application/json":
            await self._take_json(request_id, response)
        elif response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            await self._unusable(request_id, _status_of(response))
        elif kind == "text/event-stream":
            await self._take_events(request_id, response)
        else:
            what = f"{_status_of(response)}, {one_line(kind, 60) or 'no content type'}"
            await self._unusable(request_id, f"expected JSON or an event stream, got {what}")

    async def _take_json(self, request_id: Any, response: httpx2.Response) -> None:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                await self._unusable(request_id, _too_long())
                return
        message = _json_of(bytes(body))
        failed = response.status_code >= HTTPStatus.BAD_REQUEST
        if isinstance(message, dict) and ("result" in message or "error" in message) and "jsonrpc" in message:
            await self._put.send({**message, "id": request_id})
        elif isinstance(message, list) and not failed:
            for part in message:
                await self._put.send(part if isinstance(part, dict) else Unreadable("a batch with a non-message"))
        else:
            await self._unusable(
                request_id, _status_of(response) if failed else "the response is not a JSON-RPC message"
            )

    async def _take_events(self, request_id: Any, response: httpx2.Response) -> None:
        async for data in events_of(response.aiter_bytes(), MAX_ANSWER_BYTES):
            if data is None:
                await self._unusable(request_id, _too_long())
                return
            message = _json_of(data)
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
async def http_channel(url: str, headers: Mapping[str, str]) -> AsyncIterator[HttpChannel]:
    """Connect to a URL; end the session at the end.

    Raises:
        CannotStartError: the URL or a header is none.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise CannotStartError("its url must begin with http:// or https://")
    timeout = httpx2.Timeout(None, connect=_CONNECT_TIMEOUT)
    try:
        client = httpx2.AsyncClient(headers=dict(headers), timeout=timeout)
    except (ValueError, UnicodeError):
        raise CannotStartError("its headers hold characters that a header cannot") from None
    async with client, task_group() as tasks:
        channel = HttpChannel(client, url, tasks)
        try:
            yield channel
        finally:
            await channel.close_session()


def _new_place(url: str, response: httpx2.Response) -> str | None:
    """Where a redirect leads that keeps the method and stays on the same origin, so that no secret goes elsewhere."""
    if response.status_code not in {HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT}:
        return None
    place = urljoin(url, response.headers.get("location", ""))
    here, there = urlsplit(url), urlsplit(place)
    return place if (here.scheme, here.netloc) == (there.scheme, there.netloc) and place != url else None


def _status_of(response: httpx2.Response) -> str:
    location = response.headers.get("location")
    return f"HTTP {response.status_code} {response.reason_phrase}" + (
        f" to {one_line(location, 100)}" if location else ""
    )


def _too_long() -> str:
    return f"the answer is longer than the limit of {MAX_ANSWER_BYTES // 2**20} MB"


def _json_of(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
