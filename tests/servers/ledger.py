"""One tool for each outcome, in nothing but the standard library: quick to start, and it answers at once.

Reads a line, answers a line; `LEDGER_LOG` names a file that every line read is appended to. `hold` answers only after
`release`; `die` ends the process in mid-call; `linger` makes it ignore the end of its input.
"""

import json
import os
import signal
import sys
from pathlib import Path

RECORDS = {"alpha": 1, "beta": 2, "gamma": 3}
KEY = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"], "additionalProperties": False}
ANY = {"type": "object", "properties": {}}
SCHEMAS = {"lookup": KEY, "limited": KEY} | dict.fromkeys(("big", "hold", "release", "die", "linger", "echo"), ANY)
TOOLS = [
    {"name": name, "description": f"Tool {name}.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    for name, schema in SCHEMAS.items()
]
HELD = []


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(", ", ":")) + "\n")
    sys.stdout.flush()


def text(said, error=False):
    return {"result": {"isError": error, "content": [{"type": "text", "text": said}]}}


def refusal(message):
    return {"error": {"code": -32602, "message": message}}


def called(identifier, params):  # noqa: PLR0911
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return refusal("Invalid request parameters")
    if name not in SCHEMAS:
        return refusal(f"Unknown tool: {name}")
    if name in {"lookup", "limited"} and not isinstance(arguments.get("key"), str):
        return refusal("Input validation error: 'key' is a required property")
    if name == "lookup":
        key = arguments["key"]
        return text(json.dumps({key: RECORDS[key]})) if key in RECORDS else text(f"No such record: {key}", True)
    if name == "limited":
        return text("429 Too Many Requests: rate limit exceeded", True)
    if name == "big":
        return text("x" * (int(arguments["megabytes"]) << 20))
    if name == "echo":
        return text(arguments.get("text", ""))
    return odd(name, identifier)


def odd(name, identifier):
    if name == "hold":
        HELD.append(identifier)
        return None
    if name == "release":
        while HELD:
            say({"id": HELD.pop(), **text("held")})
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "linger":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say({"id": identifier, **text("lingering")})
        while True:
            signal.pause()
    return text("done")


def answer(message):
    method, identifier = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "ledger", "version": "1.0"}
        capabilities: dict[str, dict[str, bool]] = {"tools": {}}
        version = message["params"]["protocolVersion"]
        return {"result": {"protocolVersion": version, "serverInfo": info, "capabilities": capabilities}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return called(identifier, message.get("params") or {})
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


for line in sys.stdin:
    if log := os.environ.get("LEDGER_LOG"):
        with Path(log).open("a") as file:
            file.write(line)
    try:
        got = json.loads(line)
    except ValueError:
        say({"id": None, "error": {"code": -32700, "message": "Parse error"}})
        continue
    if "id" in got and "method" in got and (reply := answer(got)) is not None:
        say({"id": got["id"], **reply})
