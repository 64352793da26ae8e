"""Servers that still speak the transport of 2024: `type: sse`."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from replay.interpreter.session import http_channels
from replay.records import TransportFault
from tests.interpreter.conftest import answer_text

pytestmark = pytest.mark.anyio


async def test_a_server_over_sse_is_started_listed_and_called(host, sse_url):
    async with host({"old": {"type": "sse", "url": sse_url}}) as interpreter:
        await interpreter.start()
        record = interpreter.servers["old"]
        assert (record.error, record.title) == (None, "events")
        assert [tool.name for tool in record.tools] == ["echo", "big", "refused"]
        async with interpreter.sandbox("t") as sandbox:
            assert answer_text(await sandbox.call("old", "echo", {"text": "hi"})) == "hi"


async def test_an_answer_of_several_megabytes_arrives_whole_over_sse(host, sse_url):
    async with host({"old": {"type": "sse", "url": sse_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            assert len(answer_text(await sandbox.call("old", "big", {"megabytes": 3}))) == 3 * 2**20


async def test_a_message_that_is_refused_is_an_answer_with_its_status_and_the_session_goes_on(host, sse_url, events):
    async with host({"old": {"type": "sse", "url": sse_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            refused = await sandbox.call("old", "refused", {})
            assert refused == TransportFault(fault="unreadable", message="HTTP 403 Forbidden")
            assert answer_text(await sandbox.call("old", "echo", {"text": "on"})) == "on"
    assert [event.kind for event in events] == ["starting", "started"]


async def test_an_event_beyond_the_limit_closes_the_connection_and_the_next_call_opens_another(
    host, sse_url, events, monkeypatch
):
    monkeypatch.setattr(http_channels, "MAX_ANSWER_BYTES", 2**20)
    async with host({"old": {"type": "sse", "url": sse_url}}) as interpreter:
        await interpreter.start()
        async with interpreter.sandbox("t") as sandbox:
            answer = await sandbox.call("old", "big", {"megabytes": 2})
            assert answer.fault == "closed"
            assert "longer than the limit" in answer.message
            assert answer_text(await sandbox.call("old", "echo", {"text": "on"})) == "on"
    assert [event.kind for event in events] == ["starting", "started", "restarted", "started"]


@pytest.mark.parametrize("sse_url", [["--token"]], indirect=True)
async def test_headers_are_sent_over_sse_and_a_refusal_is_reported_with_its_status(host, sse_url):
    with_token = {"type": "sse", "url": sse_url, "headers": {"Authorization": "Bearer sesame"}}
    async with host({"in": with_token, "out": {"type": "sse", "url": sse_url}}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["in"].error is None
        assert interpreter.servers["out"].error == "HTTP 401 Unauthorized"


class Elsewhere(BaseHTTPRequestHandler):
    """Names an endpoint on another host, or none."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if self.path == "/elsewhere":
            self.wfile.write(b"event: endpoint\ndata: http://elsewhere.example/messages\n\n")

    def log_message(self, *args):
        pass


@pytest.fixture
def odd_url():
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()
        thread.join()


async def test_nothing_is_sent_to_an_endpoint_on_another_origin(host, odd_url):
    servers = {
        "elsewhere": {"type": "sse", "url": f"{odd_url}/elsewhere"},
        "nowhere": {"type": "sse", "url": f"{odd_url}/nowhere"},
        "absent": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
    }
    async with host(servers) as interpreter:
        await interpreter.start()
        found = {name: record.error for name, record in interpreter.servers.items()}
    assert "http://elsewhere.example/messages is on another origin" in found["elsewhere"]
    assert found["nowhere"] == "the event stream ended before it named an endpoint"
    assert "ConnectError" in found["absent"]
