"""The pipes to a server: what they do not take at once is written later, whole and in order."""

from __future__ import annotations

import os
from typing import Any, cast

import anyio
import pytest

from replay.interpreter.session.json_rpc import Unreadable
from replay.interpreter.session.stdio import Pipes, ServerProcess, StdioChannel

pytestmark = pytest.mark.anyio

BIG = b"x" * 1_000_000 + b"\n"


@pytest.fixture
async def pipes():
    pipes = Pipes()
    yield pipes
    pipes.close_servers()
    pipes.close()


def process_over(pipes: Pipes) -> ServerProcess:
    return ServerProcess(cast("Any", None), pipes, cast("Any", None))


async def read_at_server(pipes: Pipes, length: int) -> bytes:
    found = b""
    while len(found) < length:
        found += await anyio.to_thread.run_sync(os.read, pipes.servers_stdin, 65_536)
    return found


async def test_a_message_longer_than_the_pipe_is_finished_before_the_next_though_its_sender_gave_up(pipes):
    process = process_over(pipes)
    assert not process.write(BIG)
    with anyio.move_on_after(0.01) as limit:
        await process.drain()
    assert limit.cancelled_caught
    assert not process.write(b"next\n")
    async with anyio.create_task_group() as group:
        group.start_soon(process.drain)
        assert await read_at_server(pipes, len(BIG) + 5) == BIG + b"next\n"


async def test_a_sender_that_waits_hears_that_the_server_was_stopped(pipes):
    process = process_over(pipes)
    process.write(BIG)
    async with anyio.create_task_group() as group:
        group.start_soon(_close_soon, pipes)
        with pytest.raises(anyio.ClosedResourceError):
            await process.drain()
    with pytest.raises(anyio.ClosedResourceError):
        process.write(b"more\n")


async def _close_soon(pipes: Pipes) -> None:
    await anyio.wait_all_tasks_blocked()
    pipes.close_stdin()


async def test_a_line_that_is_too_long_stands_in_its_place_among_the_others(pipes, monkeypatch):
    monkeypatch.setattr("replay.interpreter.session.stdio.MAX_ANSWER_BYTES", 100)
    channel = StdioChannel(process_over(pipes))
    os.write(pipes.servers_stdout, b'{"a":1}\n{"jsonrpc":"2.0","id":7,"x":"' + b"y" * 200)
    first = await channel.receive()
    os.write(pipes.servers_stdout, b'"}\n{"b":2}\n')
    long, last = await channel.receive(), await channel.receive()
    assert (first, last) == ({"a": 1}, {"b": 2})
    assert isinstance(long, Unreadable)
    assert long.request_id == 7
