"""A cassette served as an MCP server: recorded answers for a real client."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

import replay
from replay.replayer.cassette import export_cassette
from replay.runfile import Run
from tests.in_process import replay_here

STEPS = [
    [("counter/increment", {"by": "2"}), ("counter/increment", {"by": "3"})],
    [("counter/value", {})],
    [("look/look", {"at": "here"})],
]


@pytest.fixture
def fleet(fleet_file: Callable[..., Path]) -> Path:
    environment = {"COUNTER_LOG": "${workspace}/counted"}
    counter = {"script": "counter.py", "state": "trajectory", "effects": "sandboxed", "env": environment}
    return fleet_file(counter=counter, look="annotated.py")


@pytest.fixture
def cassette(tmp_path: Path, results_file: Callable[..., Path], fleet: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    replay.classify(results_file(task=STEPS), servers=fleet, run=tmp_path / "live.db").close()
    with Run.read(tmp_path / "live.db") as run:
        export_cassette(run, path)
    return path


@asynccontextmanager
async def client_of(*arguments: str | Path) -> AsyncIterator[Client]:
    command = ["-m", "replay", "cassette", "serve", *map(str, arguments)]
    with anyio.fail_after(60):
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=command))) as client:
            yield client


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.anyio
async def test_a_client_gets_the_recorded_answers_by_the_calls_before_and_a_miss_names_the_nearest(
    cassette: Path,
) -> None:
    async with client_of(cassette) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        answers = [
            text(await client.call_tool("counter__increment", {"by": "2"})),
            text(await client.call_tool("counter__increment", {"by": "3"})),
            text(await client.call_tool("counter__value", {})),
            text(await client.call_tool("look__look", {"at": "here"})),
        ]
        with pytest.raises(MCPError, match=r'no answer to look/look .*; the nearest recorded call is .*"here"'):
            await client.call_tool("look__look", {"at": "there"})
    assert {"counter__increment", "look__look"} <= tools
    assert answers == ["1", "2", "2", "look"]


@pytest.mark.anyio
async def test_one_server_alone_has_its_tools_own_names_and_misses_go_to_the_servers_that_are_given(
    cassette: Path, fleet: Path
) -> None:
    async with client_of(cassette, "--server", "look", "--servers", fleet) as client:
        assert "look" in {tool.name for tool in (await client.list_tools()).tools}
        assert text(await client.call_tool("look", {"at": "there"})) == "look"


def test_it_serves_over_http_and_says_where_a_port_is_taken(cassette: Path) -> None:
    command = [sys.executable, "-m", "replay", "cassette", "serve", str(cassette), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        url = next(match[0] for line in lines if (match := re.search(r"http://\S+", line)))

        async def ask() -> str:
            async with Client(url) as client:
                return text(await client.call_tool("look__look", {"at": "here"}))

        assert anyio.run(ask) == "look"
        process.terminate()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = replay_here("cassette", "serve", cassette, "--http", str(taken.getsockname()[1]))
    assert (done.returncode, "choose another port" in done.stderr) == (2, True)


@contextmanager
def serving(*arguments: str | Path) -> Iterator[str]:
    """The server over HTTP, and what it says until it serves."""
    command = [sys.executable, "-m", "replay", "cassette", "serve", *map(str, arguments), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        for line in iter(process.stderr.readline, ""):
            said += line
            if "Authorization" in line:
                break
        try:
            yield said
        finally:
            process.terminate()


def test_other_machines_and_calls_that_reach_servers_need_a_token(cassette: Path, fleet: Path) -> None:
    done = replay_here("cassette", "serve", cassette, "--http", "0", "--host", "0.0.0.0")
    assert (done.returncode, "--host 0.0.0.0 lets other machines in; say with --token" in done.stderr) == (2, True)
    assert replay_here("cassette", "serve", cassette, "--token", "x").returncode == 2
    with serving(cassette, "--host", "0.0.0.0", "--token", "open-sesame") as said:
        port = int(re.findall(r"http://0\.0\.0\.0:(\d+)", said)[0])
        asked = {name: post(port, token) for name, token in (("none", None), ("ours", "open-sesame"), ("other", "x"))}
    assert asked["none"] == asked["other"] == HTTPStatus.UNAUTHORIZED
    assert asked["ours"] == HTTPStatus.OK
    with serving(cassette, "--servers", fleet) as said:
        assert re.search(r"Authorization: Bearer \S{40,}", said)


def post(port: int, token: str | None) -> int:
    """The status of a request to initialize."""
    body = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": body}
    headers = {"Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", json=request, headers=headers, timeout=30).status_code


def test_a_server_that_the_cassette_lacks_is_named(cassette: Path) -> None:
    done = replay_here("cassette", "serve", cassette, "--server", "countr")
    assert (done.returncode, "did you mean counter?" in done.stderr) == (2, True)


def test_a_cassette_that_does_not_answer_every_call_fails_where_it_must(
    cassette: Path, results_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "servers.yaml").unlink()
    options = ("--cassette", cassette, "--cassette-strict", "--fresh")
    assert replay_here("classify", results_file(task=STEPS), *options).returncode == 0
    changed = results_file(task=[*STEPS[:2], [("look/look", {"at": "elsewhere"}, "an answer of then")]])
    done = replay_here("classify", changed, *options)
    assert (done.returncode, "has no answer to task:s3c1; record it anew" in done.stderr) == (1, True)
    assert replay_here("classify", changed, "--offline", "--cassette-strict").returncode == 2
