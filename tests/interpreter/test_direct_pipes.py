"""The pipes to a server: what they do not take at once is written later, whole and in order."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from replay.interpreter.session.json_rpc import ChannelClosedError, Unreadable
from replay.interpreter.session.launch import Launch
from replay.interpreter.session.stdio import ServerProcess, StdioChannel, running
from replay.safety.redaction import Redactor

pytestmark = pytest.mark.anyio

BIG = {"x": "y" * 1_000_000}


@pytest.fixture
async def process(tmp_path) -> AsyncIterator[ServerProcess]:
    """One that says again what it hears, as soon as somebody listens."""
    async with running(Launch("echo", ("cat",), cwd=tmp_path), tmp_path / "log", Redactor()) as process:
        yield process


async def test_a_message_longer_than_the_pipe_is_finished_before_the_next_though_its_sender_gave_up(process):
    channel = StdioChannel(process)
    with anyio.move_on_after(0.01) as limit:
        await channel.send(BIG, {})
    assert limit.cancelled_caught
    async with anyio.create_task_group() as group:
        group.start_soon(channel.send, {"next": 1}, {})
        assert [await channel.receive(), await channel.receive()] == [BIG, {"next": 1}]


async def test_a_sender_that_waits_hears_that_the_server_was_stopped(process):
    channel = StdioChannel(process)
    async with anyio.create_task_group() as group:
        group.start_soon(_stop_soon, process)
        with pytest.raises(ChannelClosedError):
            await channel.send(BIG, {})
    with pytest.raises(ChannelClosedError):
        await channel.send({"more": 1}, {})


async def _stop_soon(process: ServerProcess) -> None:
    await anyio.wait_all_tasks_blocked()
    await process.stop()


async def test_a_line_that_is_too_long_stands_in_its_place_among_the_others(process, monkeypatch):
    monkeypatch.setattr("replay.interpreter.session.stdio.MAX_ANSWER_BYTES", 100)
    channel = StdioChannel(process)
    await process.stdin.send(b'{"a":1}\n{"jsonrpc":"2.0","id":7,"x":"' + b"y" * 200)
    first = await channel.receive()
    await process.stdin.send(b'"}\n{"b":2}\n')
    long, last = await channel.receive(), await channel.receive()
    assert (first, last) == ({"a": 1}, {"b": 2})
    assert isinstance(long, Unreadable)
    assert long.request_id == 7
