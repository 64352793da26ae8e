"""A server that runs whatever Python it is sent: the worst that a call can make a server do."""

from __future__ import annotations

import traceback

from mcp.server import MCPServer

server = MCPServer("runs-code")


@server.tool()
def run(code: str) -> str:
    """Run a program; the answer is `done`, or how it failed."""
    try:
        exec(code, {})
    except BaseException:
        return traceback.format_exc()
    return "done"


if __name__ == "__main__":
    server.run("stdio")
