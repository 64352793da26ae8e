"""Published servers behind the recorder answer published clients as they do without it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.recorder.raw_client import proxy_command, recorded

INSPECTORS = ("@modelcontextprotocol/inspector@0.22.0", "@modelcontextprotocol/inspector@2.12.0")
"""The last of the lines whose command line runs on Node 20."""

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.skipif(not shutil.which("npx"), reason="npx is absent")]


@dataclass(frozen=True)
class Published:
    name: str
    command: tuple[str, ...]
    calls: tuple[tuple[str, dict[str, str]], ...]
    made_with: str = field(default="")


UVX = str(Path(sys.executable).with_name("uvx"))
SERVERS = (
    Published(
        "time",
        (UVX, "mcp-server-time==2026.10.19"),
        (
            ("convert_time", {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Seoul"}),
            ("get_current_time", {"timezone": "Mars/Olympus"}),
            ("no_such_tool", {}),
        ),
        "Python, mcp 2.x",
    ),
    Published(
        "excel",
        (UVX, "--with", "mcp<2", "excel-mcp-server==0.1.7", "stdio"),
        (("get_workbook_metadata", {"filepath": "/nowhere/book.xlsx"}), ("read_data_from_excel", {})),
        "Python, mcp 1.x",
    ),
    Published(
        "everything",
        ("npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"),
        (("echo", {"message": "héllo ✓"}), ("get-tiny-image", {}), ("get-structured-content", {"location": "Chicago"})),
        "TypeScript, of 2026",
    ),
    Published(
        "filesystem",
        (
            *("npx", "-y", "--package", "@modelcontextprotocol/server-filesystem@2025.8.21", "--package", "zod@3"),
            *("mcp-server-filesystem", "."),
        ),
        (("list_allowed_directories", {}), ("read_text_file", {"path": "missing.txt"}), ("read_text_file", {})),
        "TypeScript, of 2025",
    ),
    Published(
        "memory",
        ("npx", "-y", "@modelcontextprotocol/server-memory@2025.8.4"),
        (("search_nodes", {"query": "nobody"}), ("open_nodes", {})),
        "TypeScript, of 2025",
    ),
)
QUICK_TO_LEAVE = [server for server in SERVERS if server.name != "everything"]
"""The inspector waits a minute for the other one, which asks it for its roots when it has gone."""
every_server = pytest.mark.parametrize("server", SERVERS, ids=[f"{one.name}: {one.made_with}" for one in SERVERS])


def plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def what_a_client_gets(command: tuple[str, ...], server: Published, mode: Any, cwd: Path) -> list[Any]:
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ), cwd=cwd)
    async with Client(stdio_client(parameters), mode=mode) as client:
        got: list[Any] = [client.protocol_version, plain(client.server_capabilities)]
        got.append(plain(client.server_info) if client.server_info else None)
        got.append(plain(await client.list_tools()))
        for name, arguments in server.calls:
            try:
                got.append(plain(await client.call_tool(name, arguments)))
            except MCPError as error:
                got.append(plain(error.error))
    return got


@pytest.mark.anyio
@every_server
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_python_client_gets_the_same_json(server: Published, mode: str, tmp_path: Path) -> None:
    output = tmp_path / "run.trajectory.json"
    bare = await what_a_client_gets(server.command, server, mode, tmp_path)

    through = await what_a_client_gets(proxy_command(output, command=server.command), server, mode, tmp_path)

    assert through == bare
    trajectory = recorded(output)
    assert [(call.name, call.arguments) for call in trajectory.calls()] == list(server.calls)
    assert len(trajectory.servers[0].tools) == len(bare[3]["tools"])
    assert trajectory.servers[0].protocol == bare[0]


def what_the_inspector_gets(inspector: str, command: tuple[str, ...], cwd: Path, *options: str) -> tuple[int, Any]:
    line = ("npx", "-y", inspector, "--cli", *config_of(command, cwd), *options)
    done = subprocess.run(
        line, capture_output=True, text=True, cwd=cwd, timeout=120, stdin=subprocess.DEVNULL, check=False
    )
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, done.stdout


def config_of(command: tuple[str, ...], cwd: Path) -> tuple[str, ...]:
    """As a file: the inspector would read the options in our command line as its own."""
    path = cwd / "mcp.json"
    server = {"type": "stdio", "command": command[0], "args": list(command[1:]), "env": dict(os.environ)}
    path.write_text(json.dumps({"mcpServers": {"it": server}}))
    return "--config", str(path), "--server", "it"


@pytest.mark.parametrize(
    ("inspector", "server"),
    [
        pytest.param(inspector, server, id=f"{inspector}-{server.name}", marks=marks)
        for server, inspector in product(QUICK_TO_LEAVE, INSPECTORS)
        for marks in ([] if (server, inspector) == (QUICK_TO_LEAVE[0], INSPECTORS[-1]) else [pytest.mark.exhaustive],)
    ],
)
def test_the_inspectors_command_line_gets_the_same_json(inspector: str, server: Published, tmp_path: Path) -> None:
    output = tmp_path / "run.trajectory.json"
    proxy = proxy_command(output, command=server.command)
    if "@0." in inspector:
        proxy = tuple(part for part in proxy if part != "--")  # it takes that, wherever it stands, for its own
    name, arguments = server.calls[0]
    pairs = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
    for options in (("--method", "tools/list"), ("--method", "tools/call", "--tool-name", name, *pairs)):
        bare = what_the_inspector_gets(inspector, server.command, tmp_path, *options)
        through = what_the_inspector_gets(inspector, proxy, tmp_path, *options)
        assert isinstance(bare[1], dict)
        assert through == bare

    calls = [call for path in tmp_path.glob("*.trajectory.json") for call in recorded(path).calls()]
    assert [(call.name, call.arguments) for call in calls] == [(name, arguments)]
