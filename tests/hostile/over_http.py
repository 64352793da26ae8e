"""The hostile server over HTTP; it prints its address, and serves every mode at a path of its own."""

from __future__ import annotations

import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from server import Hostile

_ENDLESS_MB = 300
_STATUS = {f"http-{code}": code for code in (401, 403, 404, 429, 500, 503)}


class Handler(BaseHTTPRequestHandler):
    """One POST."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        events = self.path.startswith("/sse/")
        mode = self.path.rpartition("/")[2]
        with suppress(BrokenPipeError, ConnectionResetError):
            if mode == "http-endless-notification" and "id" not in request:
                self.endless(b"x" * (1 << 20), "text/plain")
            elif "id" not in request:
                self.reply(202, b"")
            elif mode.startswith("http-") and request["method"] == "tools/call":
                self.misbehave(mode, request)
            else:
                lines = Hostile("" if mode.startswith("http-") else mode).answers(request)
                self.answer(lines, events=events)

    def do_DELETE(self) -> None:
        self.reply(200, b"")

    def do_GET(self) -> None:
        self.reply(405, b"")

    def answer(self, lines: list[str], *, events: bool) -> None:
        if events or len(lines) > 1:
            body = "".join(f"data: {line}\n\n" for line in lines)
            self.reply(200, body.encode("utf-8", "surrogatepass"), "text/event-stream")
        else:
            self.reply(200, lines[0].encode("utf-8", "surrogatepass"))

    def misbehave(self, mode: str, request: dict[str, Any]) -> None:
        if mode in _STATUS:
            self.reply(_STATUS[mode], b"no", "text/plain")
        elif mode == "http-html":
            self.reply(200, b"<html>", "text/html")
        elif mode == "http-redirect-loop":
            self.reply(307, b"", location=self.path + "?again")
        elif mode == "http-bad-redirect":
            self.reply(307, b"", location="http://[bad")
        elif mode == "http-endless-body":
            self.endless(b" " * (1 << 20), "application/json")
        elif mode == "http-endless-event":
            self.endless(b"data: ab\n" * 100_000, "text/event-stream")
        elif mode == "http-batch":
            self.reply(200, b'[1, null, "x", {"id": {}}]')
        elif mode == "http-header-flood":
            self.reply(200, b"{}", **{f"x-{n}": "y" * 1000 for n in range(90)})
        elif mode in ("http-cut-off", "http-wrong-length"):
            self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"json')
            self.close_connection = True
        else:
            self.reply(200, b"")

    def endless(self, chunk: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.close_connection = True
        for _ in range(_ENDLESS_MB * (1 << 20) // len(chunk)):
            self.wfile.write(chunk)

    def reply(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def serve() -> None:
    """Serve until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
