"""The SDK's own server, protocol 2026-07-28: `echo`, `add` with structured output, `fail`."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("modern", version="2.0")


@server.tool()
def echo(text: str) -> str:
    """Give it back."""
    return text


@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers."""
    return {"sum": a + b}


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


if __name__ == "__main__":
    server.run()
