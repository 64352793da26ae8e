"""`ask` sends the client a request (argument `method`) and answers with what came back; `grow` changes tools/list."""

import sys

from raw import send, serve, text, tool


def call(name, arguments):
    if name == "grow":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    send({"jsonrpc": "2.0", "id": "mine", "method": arguments["method"], "params": {}})
    return text(sys.stdin.readline().strip())


serve([tool("ask", "method"), tool("grow")], call, name="asks-back")
