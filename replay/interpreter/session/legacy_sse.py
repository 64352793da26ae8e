"""JSON-RPC over the transport of 2024-11-05: answers come as events of one GET, messages go out as POSTs.

The SDK's `sse_client` breaks the connection at an event of more than a megabyte, and a POST that is refused leaves its
caller waiting (tests/interpreter/test_sdk.py shows both). What is read here are httpx2's events, up to our own limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin

import anyio
import httpx2
from anyio.abc import TaskGroup

from replay.interpreter.session.http_client import (
    HTTP_FAILURES,
    MAX_REDIRECTS,
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
from replay.interpreter.workspace import task_group
from replay.records import JsonObject
from replay.safety.text import one_line

_ACCEPT: Final = {"accept": "text/event-stream", "cache-control": "no-store"}
_MAX_QUEUED: Final = 256


class LegacySseChannel:
    """A channel to a URL that serves events."""

    def __init__(self, client: httpx2.AsyncClient, url: str, tasks: TaskGroup) -> None:
        self._client, self._url, self._tasks = client, url, tasks
        self._endpoint: str | None = None
        """Where messages are posted; the server says so in its first event."""
        self._failure: str | None = None
        self._connected_or_failed = anyio.Event()
        self._put, self._take = anyio.create_memory_object_stream[Incoming](_MAX_QUEUED)

    async def send(self, message: JsonObject, headers: Mapping[str, str]) -> None:
        """POST a message, as soon as the server has said where to; what it brings is received."""
        await self._connected_or_failed.wait()
        self._tasks.start_soon(self._post, message, dict(headers))

    async def receive(self) -> Incoming:
        """The next message of the event stream."""
        try:
            return await self._take.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ChannelClosedError(self._failure or "the server closed the event stream") from None

    async def listen(self) -> None:
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

    def close(self) -> None:
        """Nothing is received any more."""
        self._put.close()
        self._take.close()

    async def _connect(self) -> None:
        for _ in range(MAX_REDIRECTS + 1):
            async with self._client.stream("GET", self._url, headers=_ACCEPT) as response:
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
                message = parsed_json(event.data)
                is_message = isinstance(message, dict)
                await self._put.send(message if is_message else Unreadable("an event that is not a JSON-RPC message"))

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
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                why = failure or "the event stream ended"
                await self._put.send(Unreadable(why, message["id"], is_answer=True, lost=lost))


@asynccontextmanager
async def legacy_sse_channel(
    url: str, headers: Mapping[str, str], auth: httpx2.Auth | None
) -> AsyncIterator[LegacySseChannel]:
    """Connect to a URL that serves events.

    Raises:
        CannotStartError: the URL or a header is not one.
    """
    async with http_client(url, headers, auth) as client, task_group() as tasks:
        channel = LegacySseChannel(client, url, tasks)
        tasks.start_soon(channel.listen)
        try:
            yield channel
        finally:
            channel.close()
