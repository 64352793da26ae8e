"""An MCP server that does one thing wrong: `python server.py MODE` over stdio, `python server.py --http` for all modes.

A mode is `PLACE.PAYLOAD` or a behaviour, see modes.py. Over HTTP the path is the mode: `/result.nan`; `/sse/result.nan`
answers with events.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from modes import ANSWERS, EXTRAS, HANDSHAKES, PAYLOADS, SCHEMAS, TOKEN, TOOL_LISTS

GOOD_TOOLS = {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
GOOD_RESULT = {"content": [{"type": "text", "text": "worked"}]}


class Hostile:
    """Answers as one mode wants it."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.place, _, name = mode.partition(".")
        self.payload = PAYLOADS[name]() if name else "null"

    def render(self, message: dict[str, Any]) -> str:
        """A message as a line, the payload in its place."""
        return json.dumps({"jsonrpc": "2.0", **message}).replace(f'"{TOKEN}"', self.payload)

    def answers(self, request: dict[str, Any]) -> list[str]:
        """What is sent for a request."""
        method, number = request.get("method"), request.get("id")
        if number is None:
            return []
        extra = [self.render(EXTRAS[self.place])] if self.place in EXTRAS else []
        if method == "initialize":
            identity = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"},
            }
            return [self.render({"id": number, "result": {**identity, **HANDSHAKES.get(self.place, {})}})]
        if method == "tools/list":
            return [*extra, self.render({"id": number, "result": self.tools()})]
        if method == "tools/call":
            return [*extra, self.render({"id": number, **ANSWERS.get(self.place, {"result": GOOD_RESULT})})]
        return [self.render({"id": number, "error": {"code": -32601, "message": "Method not found"}})]

    def tools(self) -> Any:
        if self.mode in SCHEMAS:
            return {"tools": [{"name": "work", "inputSchema": SCHEMAS[self.mode]}]}
        return TOOL_LISTS.get(self.place, GOOD_TOOLS)


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def over_stdio(hostile: Hostile) -> None:
    behaviour = BEHAVIOURS.get(hostile.mode, ordinary)
    for line in sys.stdin:
        behaviour(hostile, json.loads(line))


def ordinary(hostile: Hostile, request: dict[str, Any]) -> None:
    for line in hostile.answers(request):
        write(line)


def in_call(action: Any) -> Any:
    """A behaviour that shows in calls alone."""

    def behave(hostile: Hostile, request: dict[str, Any]) -> None:
        action(hostile, request) if request.get("method") == "tools/call" else ordinary(hostile, request)

    return behave


def answers_early(hostile: Hostile, request: dict[str, Any]) -> None:
    ordinary(hostile, request)
    if request.get("method") == "tools/list":
        for number in range(1, 50):
            error = {"code": -32602, "message": "Unknown tool: work"}
            write(hostile.render({"id": request["id"] + number, "error": error}))


def answers_twice(hostile: Hostile, request: dict[str, Any]) -> None:
    first = hostile.render({"id": request["id"], "result": GOOD_RESULT})
    second = hostile.render({"id": request["id"], "error": {"code": -32602, "message": "Unknown tool: work"}})
    write(first + "\n" + second)


def floods_requests(hostile: Hostile, request: dict[str, Any]) -> None:
    for start in range(0, 300_000, 1000):
        write("\n".join(hostile.render({"id": n, "method": f"roots/list{n}"}) for n in range(start, start + 1000)))
    ordinary(hostile, request)


def floods_notifications(hostile: Hostile, request: dict[str, Any]) -> None:
    for number in range(20_000):
        write(hostile.render({"method": f"notifications/{number}", "params": {"x": "y" * 100}}))
    ordinary(hostile, request)


def floods_stderr(hostile: Hostile, request: dict[str, Any]) -> None:
    for _ in range(300):
        sys.stderr.write(("e" * 1023 + "\n") * 200)
    ordinary(hostile, request)


def endless_line(hostile: Hostile, request: dict[str, Any]) -> None:
    sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {{"content": [{{"type": "text", "text": "')
    for _ in range(300):
        sys.stdout.write("x" * (1 << 20))
    write('"}]}}')


def dies(hostile: Hostile, request: dict[str, Any]) -> None:
    sys.exit(3)


def silent(hostile: Hostile, request: dict[str, Any]) -> None:
    time.sleep(0)


def closes_stdout(hostile: Hostile, request: dict[str, Any]) -> None:
    sys.stdout.close()


def lists_as(result: Any, after: str | None = None) -> Any:
    """A behaviour whose tools/list is `result`."""

    def behave(hostile: Hostile, request: dict[str, Any]) -> None:
        if request.get("method") == "tools/list":
            write(hostile.render({"id": request["id"], "result": result() if callable(result) else result}))
        else:
            ordinary(hostile, request)
            if after is not None and request.get("method") == "tools/call":
                write(hostile.render({"method": after}))

    return behave


PAGES = iter(range(10_000))


def next_page() -> dict[str, Any]:
    number = next(PAGES)
    return {"tools": [{"name": f"tool{number}", "inputSchema": {"type": "object"}}], "nextCursor": f"page{number}"}


def huge_list() -> dict[str, Any]:
    return {"tools": [{"name": f"work{n}" if n else "work", "inputSchema": {"type": "object"}} for n in range(20_000)]}


def prints_noise(hostile: Hostile, request: dict[str, Any]) -> None:
    sys.stdout.write("\x1b]2;noise\x07\nDEBUG \ud7ff ...\n{}\n[]\n5\nnull\n" * 20)
    ordinary(hostile, request)


def long_id(hostile: Hostile, request: dict[str, Any]) -> None:
    write('{"jsonrpc": "2.0", "id": "' + "9" * 5000 + '", "result": {}}')
    ordinary(hostile, request)


BEHAVIOURS: dict[str, Any] = {
    "answers-early": answers_early,
    "answers-twice": in_call(answers_twice),
    "floods-requests": in_call(floods_requests),
    "floods-notifications": in_call(floods_notifications),
    "floods-stderr": in_call(floods_stderr),
    "endless-line": in_call(endless_line),
    "dies-in-call": in_call(dies),
    "silent": in_call(silent),
    "closes-stdout": in_call(closes_stdout),
    "never-lists": lists_as({"tools": "none"}),
    "half-a-list": lists_as(next_page),
    "same-cursor": lists_as({"tools": [], "nextCursor": "again"}),
    "huge-list": lists_as(huge_list),
    "changes-list": lists_as(GOOD_TOOLS, "notifications/tools/list_changed"),
    "prints-noise": prints_noise,
    "id-5000-digits": long_id,
}


if __name__ == "__main__":
    if sys.argv[1] == "--http":
        from over_http import serve

        serve()
    else:
        over_stdio(Hostile(sys.argv[1]))
