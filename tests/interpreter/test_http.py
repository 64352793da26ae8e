"""Servers behind a URL."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import httpx2
import pytest

from replay.interpreter.session import http_channels
from replay.interpreter.session.http_channels import HttpChannel
from tests.interpreter.conftest import answer_text

pytestmark = pytest.mark.anyio


async def test_a_modern_server_is_called_over_http(host, http_url):
    async with host({"web": {"url": http_url}}) as interpreter:
        await interpreter.start()
        record = interpreter.servers["web"]
        assert (record.error, record.title, record.protocol) == (None, "modern", "2026-07-28")
        async with interpreter.sandbox("t") as sandbox:
            assert (await sandbox.call("web", "add", {"a": 1, "b": 2})).structured == {"sum": 3}
            assert answer_text(await sandbox.call("web", "fail", {"why": "no"})).endswith("no")


@pytest.mark.parametrize("http_url", [["--legacy"]], indirect=True)
async def test_an_older_server_is_initialized_over_http_and_gets_the_headers(host, http_url, monkeypatch):
    monkeypatch.setenv("SESAME", "sesame")
    spec = {"url": http_url, "headers": {"Authorization": "Bearer ${SESAME}"}}
    async with host({"web": spec}) as interpreter:
        await interpreter.start()
        record = interpreter.servers["web"]
        assert (record.error, record.protocol) == (None, "2025-11-25")
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("web", "echo", {"text": "hi"})) == "hi"


@pytest.mark.parametrize("http_url", [["--legacy"]], indirect=True)
async def test_a_server_that_refuses_us_is_reported_with_the_status(host, http_url):
    async with host({"web": {"url": http_url}}) as interpreter:
        await interpreter.start()
        assert "HTTP 401 Unauthorized" in interpreter.servers["web"].error


async def test_a_server_that_is_not_there_is_reported(host):
    async with host({"web": {"url": "http://127.0.0.1:9/mcp"}, "odd": {"url": "ftp://x/"}}) as interpreter:
        await interpreter.start()
        assert "ConnectError" in interpreter.servers["web"].error
        assert interpreter.servers["odd"].error == "its url must begin with http:// or https://"


class Scripted(BaseHTTPRequestHandler):
    """An old MCP server whose answer to a call is whatever the tool's name says."""

    sessions = 0
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self.reply(202, None, b"")
        elif message["method"] == "server/discover":
            self.reply(404, None, b"")
        elif message["method"] == "initialize":
            type(self).sessions += 1
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
            self.result(message, result, {"mcp-session-id": str(self.sessions)})
        elif message["method"] == "tools/list":
            self.result(message, {"tools": []})
        else:
            self.call(message, message["params"]["name"])

    def call(self, message, name):
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": name}]}}
        if name == "stream":
            noise = ': hello\r\n\r\nevent: ping\r\ndata: {}\r\n\r\ndata: {"jsonrpc":"2.0","method":"x"}\r\n\r\n'
            self.reply(200, "text/event-stream", f"{noise}data: {json.dumps(answer)}\r\n\r\n".encode())
        elif name == "cut":
            self.reply(200, "text/event-stream", b": nothing\n\n")
        elif name == "busy":
            self.reply(503, "text/html", b"<h1>busy</h1>")
        elif name == "html":
            self.reply(200, "text/html", b"<h1>hi</h1>")
        elif name == "forgotten" and self.headers["mcp-session-id"] == "1":
            self.reply(404, None, b"")
        elif name == "elsewhere":
            self.reply(307, None, b"", {"location": "http://elsewhere.example/mcp"})
        elif name == "moved" and self.path == "/mcp":
            self.reply(307, None, b"", {"location": "/mcp/"})
        elif name == "error":
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "bad"}}
            self.reply(400, "application/json", json.dumps(body).encode())
        else:
            self.reply(200, "application/json", json.dumps(answer).encode())

    def result(self, message, result, headers=None):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.reply(200, "application/json", body, headers)

    def reply(self, status, kind, body, headers=None):
        self.send_response(status)
        for key, value in {"content-type": kind, **(headers or {})}.items():
            if value:
                self.send_header(key, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.reply(200, None, b"")

    def log_message(self, *args):
        pass


@pytest.fixture
def scripted_url():
    Scripted.sessions = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}/mcp"
        httpd.shutdown()
        thread.join()


async def test_http_statuses_streams_and_redirects_become_answers_or_faults(host, scripted_url):
    async with host({"web": {"url": scripted_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:

            async def call(name):
                return await sandbox.call("web", name, {})

            assert answer_text(await call("plain")) == "plain"
            assert answer_text(await call("stream")) == "stream"
            assert (await call("cut")).message == "the event stream ended before the answer came"
            assert (await call("busy")).message == "HTTP 503 Service Unavailable"
            assert (await call("html")).message == "expected JSON or an event stream, got HTTP 200 OK, text/html"
            assert "to http://elsewhere.example/mcp" in (await call("elsewhere")).message
            error = await call("error")
            assert (error.code, error.message) == (-32602, "bad")
            assert "is not sent again" in (await call("moved")).message
            assert answer_text(await call("moved")) == "moved"


async def test_a_session_that_the_server_forgot_is_opened_anew(host, scripted_url):
    async with host({"web": {"url": scripted_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert (await sandbox.call("web", "forgotten", {})).fault == "closed"
            assert answer_text(await sandbox.call("web", "forgotten", {})) == "forgotten"


@pytest.mark.parametrize("cut", range(1, 30))
async def test_events_are_read_however_the_bytes_are_cut(cut):
    raw = (
        b'data: {"jsonrpc": "2.0",\r\ndata: "id": 7, "result": 1}\r\n\r\n',
        b"event: other\ndata: x\n\n: comment\n\n",
        'data:{"jsonrpc": "2.0", "method": "line\u2028separator"}\n\n'.encode(),
    )
    body = b"".join((raw[1], raw[2], raw[0]))

    async def chunks():
        for start in range(0, len(body), cut):
            await anyio.lowlevel.checkpoint()
            yield body[start : start + cut]

    def answer(request):
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=chunks())

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client, anyio.create_task_group() as tasks:
        channel = HttpChannel(client, "http://127.0.0.1/mcp", tasks)
        await channel.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}, {})
        received = await channel.receive()
        assert isinstance(received, dict)
        assert received["method"] == "line\u2028separator"
        assert await channel.receive() == {"jsonrpc": "2.0", "id": 7, "result": 1}
        await channel.close()


async def test_an_event_beyond_the_limit_is_unreadable_and_the_session_goes_on(host, http_url, monkeypatch):
    monkeypatch.setattr(http_channels, "MAX_ANSWER_BYTES", 2**20)
    async with host({"web": {"url": http_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("web", "echo", {"text": "x" * 2**20})
            assert (answer.fault, answer.message) == ("unreadable", "the answer is longer than the limit of 64 MB")
            assert answer_text(await sandbox.call("web", "echo", {"text": "on"})) == "on"
