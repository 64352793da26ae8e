"""Logging in to a server in the browser, once; the tokens are kept for all later replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import httpx2

from replay.interpreter.session.browser_callback import browser_callback
from replay.interpreter.session.handshake import negotiate
from replay.interpreter.session.json_rpc import JsonRpcClient
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.session.oauth import interactive_login, storage_of
from replay.interpreter.session.server_history import ServerHistory
from replay.interpreter.session.transports import remote_channel
from replay.interpreter.tasks import task_group

MAX_SECONDS: Final = 300.0
"""How long the user has in the browser."""


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
