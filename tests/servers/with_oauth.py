"""The SDK's own server and authorization server over streamable HTTP, on a free port, which it prints: `whoami`.

The user of this authorization server agrees to everything at once, or to nothing with `--refuse`. The SDK's token
endpoint has no client credentials, so that grant is added: client `robot`, secret `open sesame`. GET /counts tells what
was asked.
"""

import base64
import collections
import json
import secrets
import socket
import sys
import time
from urllib.parse import parse_qs, unquote

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from pydantic import AnyHttpUrl
from starlette.responses import JSONResponse

SCOPES = ["use"]
counts: collections.Counter[str] = collections.Counter()


class Provider:
    """Keeps everything in memory."""

    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        counts["register"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        counts["authorize"] += 1
        if "--refuse" in sys.argv:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        counts["authorization_code"] += 1
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes, renewable=True)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        counts["refresh_token"] += 1
        del self.refresh[refresh_token.token]
        return self.issue(client.client_id, scopes, renewable=True)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def exchange_identity_assertion(self, client, params):
        raise NotImplementedError("this server takes no identity assertions")

    async def revoke_token(self, token):
        self.access.pop(token.token, None)

    def issue(self, client_id, scopes, *, renewable):
        token, again = secrets.token_urlsafe(24), secrets.token_urlsafe(24) if renewable else None
        self.access[token] = AccessToken(token=token, client_id=client_id, scopes=scopes)
        if again:
            self.refresh[again] = RefreshToken(token=again, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=token, expires_in=3600, scope=" ".join(scopes), refresh_token=again)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
BASE = f"http://127.0.0.1:{listener.getsockname()[1]}"
provider = Provider()
server = MCPServer(
    "guarded",
    version="1.0",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(BASE),
        resource_server_url=AnyHttpUrl(f"{BASE}/mcp"),
        required_scopes=SCOPES,
        validate_token_resource=False,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES),
    ),
)


@server.tool()
def whoami() -> str:
    """The client that calls."""
    return get_access_token().client_id


@server.custom_route("/counts", methods=["GET"])
async def show_counts(request):
    return JSONResponse(dict(counts))


class ClientCredentials:
    """The grant that the SDK's token endpoint has not."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["path"] != "/token":
            await self.app(scope, receive, send)
            return
        message = await receive()
        form = parse_qs(message["body"].decode())
        if form.get("grant_type") != ["client_credentials"]:

            async def again():
                return message

            await self.app(scope, again, send)
            return
        counts["client_credentials"] += 1
        given = dict(scope["headers"]).get(b"authorization", b"").removeprefix(b"Basic ")
        if unquote(base64.b64decode(given).decode()) == "robot:open sesame":
            status, body = 200, provider.issue("robot", SCOPES, renewable=False).model_dump(exclude_none=True)
        else:
            status, body = 401, {"error": "invalid_client"}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


print(listener.getsockname()[1], flush=True)
app = ClientCredentials(server.streamable_http_app())
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
