"""Connecting to a server with a URL, and logging in to it in the browser, once; the tokens are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
import httpx2

from replay.interpreter.session.handshake import ServerHistory, negotiate
from replay.interpreter.session.json_rpc import Channel, JsonRpcClient
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.legacy_sse import legacy_sse_channel
from replay.interpreter.session.oauth import OAuthLogin, browser_callback, interactive_login, storage_of, stored_login
from replay.interpreter.session.streamable_http import http_channel
from replay.interpreter.workspace import task_group

MAX_SECONDS: Final = 300.0
"""How long the user has in the browser."""


@asynccontextmanager
async def remote_channel(launch: Launch, auth: httpx2.Auth | None) -> AsyncIterator[Channel]:
    """Connect to a server with a URL.

    Raises:
        CannotStartError: the URL or a header is not one.
    """
    assert launch.url is not None
    if launch.transport == "sse":
        async with legacy_sse_channel(launch.url, launch.headers, auth) as events:
            yield events
    else:
        async with http_channel(launch.url, launch.headers, auth) as posts:
            yield posts


def login_of(launch: Launch, history: ServerHistory) -> OAuthLogin | None:
    """The login of a server that wants one; all its connections share it, so that a token is renewed once."""
    if launch.auth is None or launch.url is None:
        return None
    if not isinstance(history.login, OAuthLogin):
        history.login = stored_login(launch.name, launch.url, launch.auth)
    return history.login


async def log_in(launch: Launch, show: Callable[[str], None]) -> Path:
    """Log in to a server anew; what was kept of an earlier login is forgotten.

    Args:
        launch: the server, which has a URL and a login.
        show: gets the address that the user must open in a browser on this machine.

    Returns:
        The file that the tokens are kept in.

    Raises:
        CannotStartError: the login failed; says why.
    """
    auth = launch.auth
    assert launch.url is not None
    assert auth is not None
    storage = storage_of(launch.name, launch.url, auth)
    storage.forget()

    async def show_address(address: str) -> None:
        show(address)

    try:
        async with browser_callback(auth.redirect_port) as callback:
            login = interactive_login(
                launch.name, launch.url, auth, redirect_uri=callback.url, show=show_address, wait=callback.result
            )
            with anyio.fail_after(MAX_SECONDS):
                await _introduce(launch, login)
    except TimeoutError:
        raise CannotStartError(f"nobody logged in within {MAX_SECONDS:g} s") from None
    except OSError as problem:
        raise CannotStartError(f"the browser cannot come back to this machine: {problem}") from None
    if not login.has_token:
        raise CannotStartError("the server asked for no login")
    return storage.path


async def _introduce(launch: Launch, login: httpx2.Auth) -> None:
    """Say hello to the server, which is refused without a token."""
    history = ServerHistory()
    history.wants_initialize = True  # a probe would be given up long before somebody has typed a password
    async with remote_channel(launch, login) as channel, task_group() as tasks:
        client = JsonRpcClient(channel, history.note)
        tasks.start_soon(client.run)
        await negotiate(client, history)
