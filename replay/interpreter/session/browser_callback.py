"""The end of a login in the browser: the authorization server sends the user back to a port of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

from replay.interpreter.tasks import task_group
from replay.safety.text import one_line

PATH: Final = "/callback"
_MAX_REQUEST_BYTES: Final = 65_536
_PAGE: Final = "<!doctype html><title>replay</title><p>{text} You can close this page and go back to the terminal.</p>"


class BrowserCallback:
    """Waits on 127.0.0.1 for the browser."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}{PATH}"
        self._arrived = anyio.Event()
        self._parameters: dict[str, str] = {}

    async def result(self) -> AuthorizationCodeResult:
        """What the browser brought.

        Raises:
            OAuthFlowError: the login was refused.
        """
        await self._arrived.wait()
        if "code" not in self._parameters:
            why = self._parameters.get("error_description") or self._parameters.get("error") or "no code came back"
            raise OAuthFlowError(f"the login was refused: {one_line(why, 200)}")
        return AuthorizationCodeResult(
            code=self._parameters["code"], state=self._parameters.get("state"), iss=self._parameters.get("iss")
        )

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """Answer one request of the browser."""
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, UnicodeDecodeError, IndexError):
                target = urlsplit((await _head_of(stream)).split(b" ")[1].decode("ascii"))
                found = {key: values[0] for key, values in parse_qs(target.query).items()}
                is_ours = target.path == PATH and ("code" in found or "error" in found)
                text = "Thank you." if is_ours else "There is nothing here."
                await stream.send(_response("200 OK" if is_ours else "404 Not Found", _PAGE.format(text=text)))
                if is_ours and not self._arrived.is_set():
                    self._parameters = found
                    self._arrived.set()


@asynccontextmanager
async def browser_callback(port: int | None) -> AsyncIterator[BrowserCallback]:
    """Listen for the browser.

    Args:
        port: the port to listen on; any free one where None.

    Raises:
        OSError: the port is taken.
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port or 0)
    async with listener, task_group() as tasks:
        callback = BrowserCallback(listener.extra(anyio.abc.SocketAttribute.local_port))  # noqa: S610
        tasks.start_soon(listener.serve, callback.serve)
        yield callback


async def _head_of(stream: anyio.abc.SocketStream) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_REQUEST_BYTES:
        head += await stream.receive()
    return head


def _response(status: str, page: str) -> bytes:
    body = page.encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body
