"""A whole fleet behind one server."""

from __future__ import annotations

import json
import re
import string
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from replay.recorder.fleet_server import MAX_NAME_LENGTH, ServerTool, exposed_names
from replay.records import ToolResult, TransportFault
from tests.recorder.raw_client import (
    LEDGER,
    REPLAY,
    SERVERS,
    RawClient,
    all_exited,
    connect,
    descendants,
    recorded,
    shape,
)

MODES = ["legacy", "auto"]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "servers.json"
    env = {"API_KEY": "hunter2-hunter2"}
    servers = {
        "books": {"command": LEDGER[0], "args": [LEDGER[1]], "env": env},
        "odd": {"command": sys.executable, "args": [str(SERVERS / "untyped_schema.py")]},
        "broken": {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]},
    }
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "run.trajectory.json"


def recording(fleet: Path, output: Path, *more: str) -> tuple[str, ...]:
    return (*REPLAY, "record", "-o", str(output), "--servers", str(fleet), *more)


def over_stdio(fleet: Path, output: Path, *more: str) -> Any:
    command, *args = recording(fleet, output, *more)
    return stdio_client(StdioServerParameters(command=command, args=args))


@contextmanager
def over_http(fleet: Path, output: Path, *options: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a recorder, and the header that it printed."""
    process = subprocess.Popen(recording(fleet, output, "--http", "0", *options), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        url = next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
        header = re.search(r"Authorization: (.+)", next(lines))
        yield url, {"Authorization": header[1]} if header else {}
        children = descendants(process)  # type: ignore[arg-type]
        process.terminate()
        assert process.wait(20) == 0
        assert all_exited(children)
    finally:
        process.kill()
        process.stderr.close()
        process.wait()


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_all_tools_are_offered_and_the_real_names_recorded(fleet: Path, output: Path, mode: Any) -> None:
    async with Client(over_stdio(fleet, output, "--model", "m"), mode=mode) as client:
        listed = await client.list_tools()
        result = await client.call_tool("books__lookup", {"key": "alpha"})
        with pytest.raises(MCPError, match="required property"):
            await client.call_tool("books__lookup", {})
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("books__nobody", {})
        with pytest.raises(MCPError, match="status 3"):
            await client.call_tool("broken__x", {})

    assert "books__lookup" in {tool.name for tool in listed.tools}
    assert result.content[0].model_dump(exclude_none=True) == {"type": "text", "text": '{"alpha": 1}'}
    trajectory = recorded(output)
    names = [("books", "lookup"), ("books", "lookup"), (None, None), ("broken", "x")]
    assert [(call.server, call.tool) for call in trajectory.calls()] == names
    assert {server.name: server.error is None for server in trajectory.servers} == {
        "books": True,
        "odd": True,
        "broken": False,
    }
    answers = [call.answer for call in trajectory.calls()]
    assert isinstance(answers[0], ToolResult)
    assert isinstance(answers[3], TransportFault)
    assert answers[3].fault == "not-started"


def test_schemas_pass_as_the_servers_sent_them(fleet: Path, output: Path) -> None:
    with (
        connect(recording(fleet, output)) as client,
        connect((sys.executable, str(SERVERS / "untyped_schema.py"))) as bare,
    ):
        offered, sent = ask_for_tools(client), ask_for_tools(bare)
        client.close()

    assert len(sent) > 2
    for name, schema in sent.items():
        if isinstance(schema, dict) and schema.get("type") == "object":
            assert offered[f"odd__{name}"] == schema
        else:
            assert offered[f"odd__{name}"]["type"] == "object"
    [odd] = [server for server in recorded(output).servers if server.name == "odd"]
    assert {tool.name: tool.input_schema for tool in odd.tools} == sent


def ask_for_tools(client: RawClient) -> dict[str, Any]:
    client.initialize()
    return {tool["name"]: tool.get("inputSchema") for tool in client.request("tools/list", {})["result"]["tools"]}


def test_parallel_calls_are_one_step_and_unreadable_ones_are_kept(fleet: Path, output: Path) -> None:
    with connect(recording(fleet, output)) as client:
        client.initialize()
        client.send(*[("tools/call", {"name": "books__lookup", "arguments": {"key": key}}) for key in "abc"])
        client.receive(3)
        client.request("tools/call", {"name": "books__lookup", "arguments": "alpha"})
        client.close()

    trajectory = recorded(output)
    assert shape(trajectory) == [["books__lookup"] * 3, ["books__lookup"]]
    assert [call.unreadable for call in trajectory.calls()] == [None, None, None, "arguments"]


def test_the_fleets_secrets_are_not_written(fleet: Path, output: Path) -> None:
    with connect(recording(fleet, output)) as client:
        client.initialize()
        answer = client.call("books__echo", text="hunter2-hunter2")
        client.close()

    assert answer["result"]["content"][0]["text"] == "hunter2-hunter2"
    assert "hunter2-hunter2" not in output.read_text()


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_each_http_session_is_a_trajectory_of_its_own(fleet: Path, output: Path, mode: Any) -> None:
    with over_http(fleet, output) as (url, headers):

        @asynccontextmanager
        async def client_of(address: str) -> AsyncIterator[Client]:
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(address, http_client=http), mode=mode) as client,
            ):
                yield client

        async with client_of(url) as one, client_of(url) as two:
            for client, key in ((one, "alpha"), (two, "beta"), (one, "gamma")):
                await client.call_tool("books__lookup", {"key": key})
        async with client_of(f"{url}/task-7") as third:
            await third.call_tool("books__echo", {})

    files = [recorded(path) for path in sorted(output.parent.glob("*.trajectory.json"))]
    keys = sorted([(call.arguments or {}).get("key", "") for call in file.calls()] for file in files)
    assert keys == [[""], ["alpha", "gamma"], ["beta"]]
    assert "task-7" in {file.id for file in files}


INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}  # fmt: skip


def status_of(url: str, headers: dict[str, str], method: str = "POST") -> int:
    accepted = {"accept": "application/json, text/event-stream", **headers}
    return httpx2.request(method, url, headers=accepted, json=INITIALIZE if method == "POST" else None).status_code


def test_only_who_bears_the_token_and_comes_from_a_named_origin_is_served(fleet: Path, output: Path) -> None:
    with over_http(fleet, output, "--origin", "https://inspector.example") as (url, headers):
        token = headers["Authorization"].removeprefix("Bearer ")
        port = url.split(":")[2].partition("/")[0]
        assert len(token) >= 40
        for refused in (
            {}, {"Authorization": ""}, {"Authorization": token}, {"Authorization": "Bearer"},
            {"Authorization": f"Basic {token}"}, {"Authorization": f"Bearer {token[:-1]}"}, {"X-Token": token},
            {"Authorization": f"Bearer {token}x"}, {"Authorization": f"Bearer {token.swapcase()}"},
            {"Cookie": f"token={token}"},
        ):  # fmt: skip
            for address in (url, f"{url}/task", f"{url}?token={token}"):
                assert status_of(address, refused) == 401, refused
            for method in ("GET", "DELETE", "OPTIONS", "PUT"):
                assert status_of(url, refused, method) in {401, 405}, (method, refused)
        for origin in (
            "http://127.0.0.1:1", f"http://127.0.0.1:{port}", "http://localhost:6274", "null", "https://evil.example",
            "https://inspector.example.evil", "http://inspector.example", "https://inspector.example:444", "file://",
        ):  # fmt: skip
            assert status_of(url, {**headers, "Origin": origin}) == 403, origin
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1",
            "127.0.0.1:1",
            f"127.0.0.1.evil.example:{port}",
        ):
            assert status_of(url, {**headers, "Host": host}) in {400, 403, 421}, host
        assert status_of(url, headers) == 200
        assert status_of(url, {**headers, "Origin": "https://inspector.example"}) == 200
        assert status_of(url, {"authorization": f"bearer {token}"}) == 200
    assert token not in "".join(path.read_text() for path in output.parent.iterdir() if path.is_file())


def test_without_authentication_is_said_and_web_pages_stay_out(fleet: Path, output: Path) -> None:
    with over_http(fleet, output, "--no-auth") as (url, headers):
        assert headers == {}
        assert status_of(url, {}) == 200
        assert status_of(url, {"Origin": "http://localhost:6274"}) == 403


def test_each_recorder_has_a_token_of_its_own(fleet: Path, output: Path) -> None:
    tokens = set()
    for _ in range(3):
        with over_http(fleet, output) as (url, headers):
            assert status_of(url, headers) == 200
            tokens.add(headers["Authorization"])
    assert len(tokens) == 3


@pytest.mark.parametrize("options", [("--no-auth",), ("--origin", "http://x")])
def test_options_of_http_go_with_http(fleet: Path, output: Path, options: tuple[str, ...]) -> None:
    done = subprocess.run(recording(fleet, output, *options), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "go with --http" in done.stderr


@pytest.mark.anyio
async def test_a_taken_port_is_reported_before_anything_starts(fleet: Path, output: Path) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        done = await anyio.run_process(recording(fleet, output, "--http", str(port)), check=False)

    assert done.returncode == 2
    assert b"choose another port" in done.stderr
    assert not output.with_name(output.name + ".partial").exists()


def test_a_fleet_of_which_nothing_starts_says_so(tmp_path: Path, output: Path) -> None:
    fleet = tmp_path / "servers.json"
    fleet.write_text(json.dumps({"mcpServers": {"broken": {"command": "no-such-command-anywhere"}}}))

    with connect(recording(fleet, output), stderr=subprocess.PIPE) as client:
        assert client.process.stderr is not None
        next(line for line in client.process.stderr if b"offering 0 tools of 0 of 1 servers" in line)
        code = client.close()

    assert code == 4


SERVER_TOOLS = st.builds(ServerTool, st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=80))


@given(
    st.sets(
        SERVER_TOOLS | st.builds(ServerTool, st.sampled_from(["a", "a_", "a__"]), st.sampled_from(["b", "_b", "__b"]))
    )
)
def test_exposed_names_fit_every_model_api_and_lead_back(tools: set[ServerTool]) -> None:
    exposed = exposed_names(tools)

    assert set(exposed.values()) == tools
    assert len(exposed) == len(tools)
    assert all(set(name) <= set(string.ascii_letters + string.digits + "_-") for name in exposed)
    assert all(len(name) <= MAX_NAME_LENGTH for name in exposed)
