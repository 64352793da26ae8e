"""Lists its seven tools on four pages; with env ENDLESS=1 the last page points to itself."""

import os

from raw import serve, text, tool

tools = [tool(f"tool-{number}") for number in range(7)]


def pages(cursor):
    start = int(cursor or 0)
    last = start + 2 >= len(tools)
    if last and os.environ.get("ENDLESS"):
        return {"tools": tools[start:], "nextCursor": str(start)}
    return {"tools": tools[start : start + 2]} | ({} if last else {"nextCursor": str(start + 2)})


serve(tools, lambda name, arguments: text(name), name="paginated", pages=pages)
