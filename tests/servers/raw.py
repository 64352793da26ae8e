"""Not a server: the JSON-RPC loop of those below that the SDK would keep from misbehaving. Standard library only."""

import json
import sys


class RefusedError(Exception):
    """Raised by a tool to answer with a JSON-RPC error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def tool(name, *required, **more):
    properties = {field: {"type": "string"} for field in required}
    return {
        "name": name,
        "inputSchema": {"type": "object", "properties": properties, "required": list(required)},
        **more,
    }


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def serve(tools, call, *, name="raw", version="1.0", protocol="2025-06-18", pages=None, before=lambda method: None):
    """Serve until stdin ends. `call(name, arguments)` gives a result, None for no answer, or raises RefusedError."""
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params") or {}
        if "id" not in message or method is None:
            continue
        before(method)
        try:
            result = _answer(method, params, tools, call, name, version, protocol, pages)
        except RefusedError as refusal:
            send({"jsonrpc": "2.0", "id": message["id"], "error": refusal.error})
            continue
        if result is not None:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def _answer(method, params, tools, call, name, version, protocol, pages):
    if method == "initialize":
        return {
            "protocolVersion": protocol,
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": name, "version": version},
        }
    if method == "tools/list":
        return pages(params.get("cursor")) if pages else {"tools": tools}
    if method == "tools/call":
        return call(params["name"], params.get("arguments") or {})
    if method == "ping":
        return {}
    raise RefusedError(-32601, f"Method not found: {method}")
