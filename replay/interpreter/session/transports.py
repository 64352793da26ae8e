"""The two transports to a URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from replay.interpreter.session.channel import Channel
from replay.interpreter.session.launch import Launch
from replay.interpreter.session.legacy_sse import legacy_sse_channel
from replay.interpreter.session.oauth import OAuthLogin, stored_login
from replay.interpreter.session.server_history import ServerHistory
from replay.interpreter.session.streamable_http import http_channel


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
