"""create / get / update: objects with random ids, kept in memory, so that a replay has to rebind."""

import uuid

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

server = MCPServer("chain", version="1.2.3")
objects: dict[str, dict[str, str]] = {}


@server.tool()
def create(name: str) -> dict[str, str]:
    """Make an object with a new random id."""
    made = {"id": uuid.uuid4().hex, "name": name}
    objects[made["id"]] = made
    return made


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def get(id: str) -> dict[str, str]:
    """Read an object."""
    if id not in objects:
        raise ToolError(f"object {id} not found")
    return objects[id]


@server.tool()
def update(id: str, name: str) -> dict[str, str]:
    """Rename an object."""
    if id not in objects:
        raise ToolError(f"object {id} not found")
    objects[id]["name"] = name
    return objects[id]


@server.tool()
def remove(id: str) -> str:
    """Remove an object."""
    if id not in objects:
        raise ToolError(f"'{id}' is locked")
    del objects[id]
    return "done"


if __name__ == "__main__":
    server.run()
