"""Lists one tool, says that the list has changed before it sends it, and from then on lists two."""

from raw import send, serve, text, tool

tools = [tool("first")]


def pages(cursor):
    listed = tools[:]
    if len(tools) == 1:
        tools.append(tool("second"))
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    return {"tools": listed}


serve(tools, lambda name, arguments: text(name), name="grows-at-start", pages=pages)
