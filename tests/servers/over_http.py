"""`modern` over streamable HTTP on a free port, which it prints; `--legacy` makes it stateful and asks for a token.

With `--legacy` it wants `Authorization: Bearer sesame` and speaks the protocol of 2025.
"""

import socket
import sys

import uvicorn
from modern import server

LEGACY = "--legacy" in sys.argv


class Gate:
    """Asks for the token, and hides `server/discover` from the client."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        headers = dict(scope.get("headers") or [])
        if scope["type"] == "http" and LEGACY:
            status = None
            if headers.get(b"authorization") != b"Bearer sesame":
                status = 401
            elif headers.get(b"mcp-protocol-version", b"") >= b"2026":
                status = 400
            if status is not None:
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body", "body": b"no"})
                return
        await self.app(scope, receive, send)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
app = Gate(server.streamable_http_app())
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
