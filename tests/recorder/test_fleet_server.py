"""A whole fleet behind one server."""

from __future__ import annotations

import json
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from replay.recorder.fleet_server import MAX_NAME_LENGTH, exposed_names
from replay.recorder.recording_session import ServerTool
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
def over_http(fleet: Path, output: Path) -> Iterator[str]:
    process = subprocess.Popen(recording(fleet, output, "--http", "0"), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        yield next(found[0] for line in lines if (found := re.search(r"http://\S+", line)))
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
    with over_http(fleet, output) as url:
        async with Client(url, mode=mode) as one, Client(url, mode=mode) as two:
            for client, key in ((one, "alpha"), (two, "beta"), (one, "gamma")):
                await client.call_tool("books__lookup", {"key": key})
        async with Client(f"{url}/task-7", mode=mode) as third:
            await third.call_tool("books__echo", {})

    files = [recorded(path) for path in sorted(output.parent.glob("*.trajectory.json"))]
    keys = sorted([(call.arguments or {}).get("key", "") for call in file.calls()] for file in files)
    assert keys == [[""], ["alpha", "gamma"], ["beta"]]
    assert "task-7" in {file.id for file in files}


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
