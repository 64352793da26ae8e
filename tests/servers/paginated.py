"""Lists its seven tools on four pages, whose cursors no pipe takes whole; with env ENDLESS=1 the last names itself."""

import os

from raw import serve, text, tool

tools = [tool(f"tool-{number}") for number in range(7)]


def cursor_at(start):
    return str(start).ljust(5000)


def pages(cursor):
    start = int(cursor or 0)
    last = start + 2 >= len(tools)
    if last and os.environ.get("ENDLESS"):
        return {"tools": tools[start:], "nextCursor": cursor_at(start)}
    return {"tools": tools[start : start + 2]} | ({} if last else {"nextCursor": cursor_at(start + 2)})


serve(tools, lambda name, arguments: text(name), name="paginated", pages=pages)
