"""OAuth for remote servers, and the browser that comes back to this machine with a code.

The protocol is the SDK's (`mcp.client.auth`); who may open a browser, and when, is ours. A replay never opens one:
`replay servers login NAME` does, once; every other verb uses the tokens that it kept: a file for each server in the
user's data directory, which nobody else can read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.abc
import httpx2
import platformdirs
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import AnyUrl, ValidationError

from replay.interpreter.config.specs import AuthSpec
from replay.interpreter.session.handshake import ServerHistory, negotiate
from replay.interpreter.session.http_channels import remote_channel
from replay.interpreter.session.json_rpc import JsonRpcClient
from replay.interpreter.session.launch import CannotStartError, Launch
from replay.interpreter.workspace import task_group
from replay.records import JsonObject
from replay.safety.filesystem import write_atomically
from replay.safety.text import one_line

# a failed login is said once, as the reason why the server cannot be had
logging.getLogger("mcp.client.auth").addHandler(logging.NullHandler())

_LONG_AGO: Final = 1.0
_NO_REDIRECT: Final = "http://127.0.0.1/callback"
PATH: Final = "/callback"
_MAX_REQUEST_BYTES: Final = 65_536
MAX_SECONDS: Final = 300.0
"""How long the user has in the browser."""
_PAGE: Final = "<!doctype html><title>replay</title><p>{text} You can close this page and go back to the terminal.</p>"
_Model = TypeVar("_Model", OAuthToken, OAuthClientInformationFull, OAuthMetadata)
_HEAD: Final[JsonObject] = {"format": "replay.oauth", "version": 1}
_UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^\w.-]+")


class LoginRequiredError(OAuthFlowError):
    """A person has to log in first; the text says how."""


class OAuthLogin(httpx2.Auth):
    """Adds the token to requests, and gets one where that takes no person.

    The SDK's provider lets one request through at a time; while the token is good, this one lets all of them through.
    """

    def __init__(self, provider: OAuthClientProvider, *, needs_person: str | None) -> None:
        """Wrap a provider.

        Args:
            provider: speaks to the authorization server.
            needs_person: what to say where only a person could go on; None where none is needed, or one is there.
        """
        self._provider, self._needs_person = provider, needs_person

    @property
    def has_token(self) -> bool:
        """Whether there is a token that has not ended."""
        return self._provider.context.is_token_valid()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The request with a token; where it is refused, what the SDK does to get one."""
        tokens = self._provider.context.current_tokens
        if tokens is not None and self.has_token:
            request.headers["Authorization"] = f"Bearer {tokens.access_token}"
            response = yield request
            if not _is_refusal(response):
                return
            if response.status_code == HTTPStatus.UNAUTHORIZED:
                self._renew_instead_of(tokens)
        flow = self._provider.async_auth_flow(request)
        refused = False
        try:
            outgoing = await anext(flow)
            while True:
                if refused and outgoing is not request and self._needs_person is not None:
                    raise LoginRequiredError(self._needs_person)
                response = yield outgoing
                refused = refused or (outgoing is request and _is_refusal(response))
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _renew_instead_of(self, tokens: OAuthToken) -> None:
        """Treat a token as ended that the server refuses: the SDK would ask the user, and not the refresh token."""
        if self._provider.context.current_tokens is tokens:
            self._provider.context.token_expiry_time = _LONG_AGO


def _is_refusal(response: httpx2.Response) -> bool:
    """Whether another token may help; any other 403 is the server's answer, and the request is not sent again."""
    if response.status_code == HTTPStatus.FORBIDDEN:
        return "insufficient_scope" in response.headers.get("www-authenticate", "")
    return response.status_code == HTTPStatus.UNAUTHORIZED


def stored_login(name: str, url: str, auth: AuthSpec) -> OAuthLogin:
    """A login that asks no person: by a secret, or by what `replay servers login` kept."""
    storage = FileTokenStorage(name, url, auth)
    if auth.grant == "client_credentials":
        provider = _by_secret(url, auth, storage)
        needs_person = None
    else:
        provider = _by_browser(url, auth, storage, _NO_REDIRECT, None, None)
        needs_person = f'it needs a login in the browser; run "replay servers login {name}" once, then try again'
    storage.restore(provider.context)
    return OAuthLogin(provider, needs_person=needs_person)


def _by_secret(url: str, auth: AuthSpec, storage: FileTokenStorage) -> OAuthClientProvider:
    assert auth.client_id is not None
    assert auth.client_secret is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # docs/fleet.md says what it costs to name no issuer
        return ClientCredentialsOAuthProvider(
            url,
            storage,
            auth.client_id,
            auth.client_secret,
            scope=" ".join(auth.scopes) or None,
            issuer=auth.issuer,
        )


def _by_browser(
    url: str,
    auth: AuthSpec,
    storage: FileTokenStorage,
    redirect_uri: str,
    show: Callable[[str], Awaitable[None]] | None,
    wait: Callable[[], Awaitable[AuthorizationCodeResult]] | None,
) -> OAuthClientProvider:
    method = "client_secret_basic" if auth.client_secret else "none"
    metadata = OAuthClientMetadata(
        client_name="replay",
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # noqa: S106
        scope=" ".join(auth.scopes) or None,
    )
    if auth.client_id is not None:
        storage.known_client = OAuthClientInformationFull(
            client_id=auth.client_id,
            client_secret=auth.client_secret,
            redirect_uris=[AnyUrl(redirect_uri)],
            token_endpoint_auth_method=method,
            issuer=auth.issuer,
        )
    return OAuthClientProvider(url, metadata, storage, show, wait)


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
    storage = FileTokenStorage(launch.name, launch.url, auth)
    storage.forget()

    async def show_address(address: str) -> None:
        show(address)

    try:
        async with browser_callback(auth.redirect_port) as callback:
            provider = _by_browser(launch.url, auth, storage, callback.url, show_address, callback.result)
            storage.restore(provider.context)
            login = OAuthLogin(provider, needs_person=None)
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


def token_directory() -> Path:
    """The directory of all token files."""
    return platformdirs.user_data_path("mcp-replay", appauthor=False) / "oauth"


class FileTokenStorage:
    """The SDK's `TokenStorage`, in a file.

    Keeps besides what the SDK asks for: when the token ends and where it is renewed. The SDK forgets both with the
    process, and would then send the user to the browser although it holds a refresh token.
    """

    def __init__(self, name: str, url: str, auth: AuthSpec) -> None:
        """Name the file.

        Args:
            name: the server's name in the fleet file.
            url: the server's address; a token is for it alone.
            auth: what the fleet file says of it; a token is also for its grant and its client alone.
        """
        key = hashlib.sha256(json.dumps([url, auth.grant, auth.client_id]).encode()).hexdigest()[:16]
        self.path = token_directory() / f"{_UNSAFE_IN_FILE_NAME.sub('_', name)[:60]}-{key}.json"
        self.context: OAuthContext | None = None
        """The login that uses this storage."""
        self.known_client: OAuthClientInformationFull | None = None
        """The client that the fleet file names; no file of ours holds it."""
        self._url = url

    def restore(self, context: OAuthContext) -> None:
        """Give a login the stored token, when it ends, and where it is renewed."""
        self.context = context
        stored = self._read()
        context.current_tokens = _model(OAuthToken, stored.get("tokens"))
        ends = stored.get("expires_at")
        context.token_expiry_time = ends if isinstance(ends, int | float) else None
        context.oauth_metadata = _model(OAuthMetadata, stored.get("authorization_server"))

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens of the last login."""
        return _model(OAuthToken, self._read().get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens."""
        metadata = self.context.oauth_metadata if self.context is not None else None
        self._write(
            {
                **self._read(),
                "tokens": tokens.model_dump(mode="json", exclude_none=True),
                "expires_at": None if tokens.expires_in is None else time.time() + tokens.expires_in,
                "authorization_server": metadata and metadata.model_dump(mode="json", exclude_none=True),
            }
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that we are registered as."""
        return self.known_client or _model(OAuthClientInformationFull, self._read().get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the client that we were registered as."""
        self._write({**self._read(), "client": client_info.model_dump(mode="json", exclude_none=True)})

    def forget(self) -> None:
        """Forget the tokens, and the client that we registered as: it is bound to the port of that login."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> JsonObject:
        try:
            stored: Any = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        is_ours = isinstance(stored, dict) and stored.items() >= {**_HEAD, "url": self._url}.items()
        return stored if is_ours else {}

    def _write(self, content: JsonObject) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.path.parent.chmod(0o700)
        write_atomically(self.path, json.dumps({**content, **_HEAD, "url": self._url}, indent=1), private=True)


def _model(kind: type[_Model], value: Any) -> _Model | None:
    try:
        return None if value is None else kind.model_validate(value)
    except ValidationError:
        return None
