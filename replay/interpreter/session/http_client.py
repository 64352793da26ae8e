"""What both transports over HTTP need: the client, redirects within an origin, and failures in words."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError

from replay.interpreter.session.json_rpc import MAX_ANSWER_BYTES, encoded
from replay.interpreter.session.launch import CannotStartError
from replay.json_values import parse_json
from replay.records import JsonObject
from replay.safety.text import one_line

_CONNECT_TIMEOUT: Final = 10.0
_KEEPS_METHOD: Final = frozenset({HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT})
_MAX_LINES_OF_EVENT: Final = 500_000
MAX_REDIRECTS: Final = 3
TOO_LONG: Final = f"the answer is longer than the limit of {MAX_ANSWER_BYTES // 2**20} MB"
HTTP_FAILURES: Final = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OAuthFlowError)
"""What a request may raise because of the server, the network or the login."""


@asynccontextmanager
async def http_client(
    url: str, headers: Mapping[str, str], auth: httpx2.Auth | None
) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for one server; answers may take as long as the caller waits for them.

    Raises:
        CannotStartError: the URL or a header is not one.
    """
    try:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise CannotStartError("its url must begin with http:// or https://")
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL) as problem:
        raise CannotStartError(f"its url is not one: {problem}") from None
    timeout = httpx2.Timeout(None, connect=_CONNECT_TIMEOUT)
    try:
        client = httpx2.AsyncClient(headers=dict(headers), timeout=timeout, auth=auth)
    except (ValueError, UnicodeError):
        raise CannotStartError("its headers hold characters that a header cannot") from None
    async with client:
        yield client


def redirect_within_origin(url: str, response: httpx2.Response) -> str | None:
    """Where a redirect leads that keeps the method and the origin, so that no secret goes elsewhere."""
    may_follow = response.status_code in _KEEPS_METHOD or (response.request.method == "GET" and response.is_redirect)
    if not may_follow:
        return None
    try:
        place = urljoin(url, response.headers.get("location", ""))
    except ValueError:
        return None
    return place if is_same_origin(url, place) and place != url else None


def is_same_origin(url: str, other: str) -> bool:
    """Whether two URLs have the same scheme, host and port."""
    try:
        one, two = urlsplit(url), urlsplit(other)
    except ValueError:
        return False
    return (one.scheme, one.netloc) == (two.scheme, two.netloc)


def body_of(message: JsonObject, headers: Mapping[str, str]) -> dict[str, Any]:
    """Body and headers of a POST, as httpx2 takes them. Its own JSON refuses NaN, which a recording may hold."""
    return {"content": encoded(message), "headers": {"content-type": "application/json", **headers}}


async def events_of(response: httpx2.Response, max_size: int) -> AsyncIterator[httpx2.ServerSentEvent]:
    """The events of a response, none longer than `max_size` bytes.

    Raises:
        httpx2.SSEError: an event is longer, or has too many lines: each costs far more memory than it is long.
    """
    async for event in httpx2.EventSource(_WithFewLines(response), max_event_size=max_size):  # type: ignore[arg-type]
        yield event


class _WithFewLines:
    """What an `EventSource` wants of a response; ends where lines come without an event."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.headers, self.request = response.headers, response.request

    async def aiter_text(self) -> AsyncIterator[str]:
        lines = 0
        async for chunk in self._response.aiter_text():
            last_event = max(chunk.rfind("\n\n"), chunk.rfind("\r\n\r\n"), chunk.rfind("\r\r"))
            if last_event >= 0:
                lines = 0
            lines += chunk.count("\n", max(last_event, 0)) + chunk.count("\r", max(last_event, 0))
            if lines > _MAX_LINES_OF_EVENT:
                raise httpx2.SSEError(f"An event exceeded the limit of {_MAX_LINES_OF_EVENT} lines.")
            yield chunk


def media_type_of(response: httpx2.Response) -> str:
    """The content type without its parameters, in lower case."""
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def status_in_words(response: httpx2.Response) -> str:
    """`HTTP 503 Service Unavailable`, and where a redirect leads that was not followed."""
    location = response.headers.get("location")
    return f"HTTP {response.status_code} {response.reason_phrase}" + (
        f" to {one_line(location, 100)}" if location else ""
    )


def failure_in_words(problem: Exception) -> str:
    """One line on one of `HTTP_FAILURES`. The sentences of our own login stand for themselves."""
    if isinstance(problem, httpx2.SSEError) and "exceeded" in str(problem):
        return TOO_LONG
    text = str(problem)
    return one_line(text if isinstance(problem, OAuthFlowError) else f"{type(problem).__name__}: {text}", 300)


def parsed_json(text: str | bytes) -> Any:
    """The JSON value, however much it breaks the specification of MCP; None where it is not JSON."""
    try:
        return parse_json(text)
    except ValueError:
        return None
