"""What the SDK's client does with servers that a replay must cope with.

Each test is the reason why a part of `replay/interpreter/session/` is our own. One that fails is good news: the SDK has
learned it, and our part may go.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from pydantic import ValidationError

from tests.interpreter.conftest import SERVERS
from tests.interpreter.test_http import scripted_url  # noqa: F401

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


async def ignore(*args):
    return {}


async def raw_request(streams, tool, arguments=None, seconds=1.0):
    """What the SDK's dispatcher makes of a call; None where its caller is left waiting."""
    dispatcher = JSONRPCDispatcher(*streams)
    async with anyio.create_task_group() as tasks:
        await tasks.start(dispatcher.run, ignore, ignore)
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        await dispatcher.send_raw_request("initialize", hello)
        await dispatcher.notify("notifications/initialized", None)
        answer: Any = None
        with anyio.move_on_after(seconds):
            try:
                call = {"name": tool, "arguments": arguments or {}}
                answer = await dispatcher.send_raw_request("tools/call", call)
            except MCPError as problem:
                answer = problem.error
        tasks.cancel_scope.cancel()
    return answer


def stdio(name):
    return stdio_client(StdioServerParameters(command=sys.executable, args=[str(SERVERS / f"{name}.py")]))


@pytest.mark.parametrize("tool", ["not-an-object", "odd-error", "surrogate"])
async def test_over_stdio_an_answer_that_breaks_the_specification_leaves_its_caller_waiting(tool):
    async with stdio("odd_answers") as streams:
        assert await raw_request(streams, tool) is None


async def test_a_session_refuses_a_server_that_does_not_say_its_version(scripted_url):  # noqa: F811
    async with streamable_http_client(scripted_url) as streams, ClientSession(*streams) as session:
        with pytest.raises(ValidationError, match=r"serverInfo\.version"):
            await session.initialize()


async def test_over_http_no_status_is_told_from_another(scripted_url):  # noqa: F811
    async with streamable_http_client(scripted_url) as streams:
        busy = await raw_request(streams, "busy")
    assert (busy.code, busy.message) == (-32603, "Server returned an error response")


async def test_over_http_one_request_that_cannot_connect_ends_all():
    with pytest.raises(BaseExceptionGroup) as caught:
        async with streamable_http_client("http://127.0.0.1:9/mcp") as streams:
            await raw_request(streams, "any")
    assert caught.group_contains(httpx2.ConnectError)


async def test_over_sse_an_answer_of_two_megabytes_breaks_the_connection(sse_url):
    with pytest.raises(BaseExceptionGroup) as caught:
        async with sse_client(sse_url) as streams:
            await raw_request(streams, "big", {"megabytes": 2}, seconds=20)
    assert caught.group_contains(httpx2.SSEError)


async def test_over_sse_a_message_that_is_refused_leaves_its_caller_waiting(sse_url):
    async with sse_client(sse_url) as streams:
        assert await raw_request(streams, "refused") is None
