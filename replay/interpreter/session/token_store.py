"""Where OAuth tokens are kept: a file for each server in the user's data directory, which nobody else can read."""

from __future__ import annotations

import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any, Final, TypeVar

import platformdirs
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import ValidationError

from replay.interpreter.config.specs import AuthSpec
from replay.records import JsonObject
from replay.safety.filesystem import write_atomically

_Model = TypeVar("_Model", OAuthToken, OAuthClientInformationFull, OAuthMetadata)
_HEAD: Final[JsonObject] = {"format": "replay.oauth", "version": 1}
_UNSAFE_IN_FILE_NAME: Final = re.compile(r"[^\w.-]+")


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
