"""A server of the OpenAI protocol that says what a script tells it to: good answers, and every bad one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """One response: a message, or whatever else a bad endpoint sends."""

    text: str | None = None
    calls: tuple[tuple[str, str], ...] = ()
    """Function calls: name, and the arguments as text."""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """Sent as it is, in the place of a message."""
    hold: threading.Event | None = None
    """What comes waits for it."""
    error: dict[str, Any] | None = None


Script = Callable[[dict[str, Any]], Reply]
"""From a request to its reply."""


class ScriptedModel(ThreadingHTTPServer):
    """Answers by a script, and keeps every request."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(request)
            self.server.keys.append(self.headers["Authorization"])
            reply = self.server.script(request)
        if reply.hold is not None and not request.get("stream"):
            reply.hold.wait()
        if request.get("stream") and reply.status == 200 and reply.body is None:
            self._stream(reply)
        else:
            self._whole(reply)

    def _whole(self, reply: Reply) -> None:
        body = reply.body if reply.body is not None else json.dumps(self._completion(reply)).encode()
        self.send_response(reply.status)
        own = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
        for name, value in (*own, *reply.headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _completion(self, reply: Reply) -> dict[str, Any]:
        if reply.error is not None:
            return {"error": reply.error}
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.calls:
            message["tool_calls"] = [call_of(number, *call) for number, call in enumerate(reply.calls)]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        return {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [choice],
            "usage": usage,
        }

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, delta in enumerate(_pieces(reply)):
            if number == 1 and reply.hold is not None:
                reply.hold.wait()
            self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        finish = "tool_calls" if reply.calls else "stop"
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        self._event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, fields: dict[str, Any]) -> None:
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", **fields}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()


def _pieces(reply: Reply) -> Iterator[dict[str, Any]]:
    text = reply.text or ""
    for start in range(0, len(text), 7):
        yield {"content": text[start : start + 7]}
    for number, (name, arguments) in enumerate(reply.calls):
        yield {"tool_calls": [{"index": number, **call_of(number, name, "")}]}
        for start in range(0, len(arguments), 5):
            piece = {"index": number, "function": {"arguments": arguments[start : start + 5]}}
            yield {"tool_calls": [piece]}


def call_of(number: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


@contextmanager
def scripted(script: Script) -> Iterator[ScriptedModel]:
    """The server, as long as the block lasts."""
    server = ScriptedModel(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def in_turn(*replies: Reply) -> Script:
    """One reply after the other; the last one again and again."""
    left = list(replies)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]
