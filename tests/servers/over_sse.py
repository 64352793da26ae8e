"""The SDK's own server over the SSE transport of 2024, on a free port, which it prints: `echo`, `big`, `refused`.

A message that calls `refused` is answered with 403. With `--token` every request needs `Authorization: Bearer sesame`.
"""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("events", version="1.0")


@server.tool()
def echo(text: str) -> str:
    """Give it back."""
    return text


@server.tool()
def big(megabytes: int) -> str:
    """As many megabytes of text as asked for."""
    return "x" * (megabytes * 2**20)


@server.tool()
def refused() -> str:
    """Never reached."""
    return "reached"


class Gate:
    """Asks for the token, and refuses some messages."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, message = None, None
        if "--token" in sys.argv and dict(scope["headers"]).get(b"authorization") != b"Bearer sesame":
            status = 401
        elif scope["method"] == "POST":
            message = await receive()
            status = 403 if b'"refused"' in message["body"] else None
        if status is not None:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return

        async def replay():
            nonlocal message
            taken, message = message, None
            return taken or await receive()

        await self.app(scope, replay, send)


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(Gate(server.sse_app()), log_level="error")).run(sockets=[listener])
