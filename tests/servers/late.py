"""`slow` is answered only when the next request arrives, whatever that is; `echo` works."""

import json
import sys

from raw import send, serve, text, tool

waiting = []
last_id = []


def before(method):
    while waiting:
        send({"jsonrpc": "2.0", "id": waiting.pop(), "result": text("too late")})


class _Watched:
    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        for line in self.stream:
            last_id[:] = [json.loads(line).get("id")]
            yield line


def call(name, arguments):
    if name == "slow":
        waiting.append(last_id[0])
        return None
    return text(arguments["text"])


sys.stdin = _Watched(sys.stdin)
serve([tool("slow"), tool("echo", "text")], call, name="late", before=before)
