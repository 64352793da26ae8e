"""Published servers from the package registries."""

from __future__ import annotations

import shutil

import pytest

from tests.interpreter.conftest import answer_text, parsed

pytestmark = [pytest.mark.anyio, pytest.mark.live]

UVX = {"command": "uvx", "startup_timeout": 240}


async def test_the_published_time_server_converts_a_time(host):
    async with host({"time": {**UVX, "args": ["mcp-server-time==2026.10.19"]}}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["time"].error is None
        async with interpreter.sandbox("t") as sandbox:
            arguments = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
            answer = await sandbox.call("time", "convert_time", arguments)
    assert parsed(answer)["target"]["datetime"].endswith("T03:00:00+00:00")


async def test_the_published_sqlite_server_keeps_its_database_in_the_workspace(host):
    args = ["--with", "mcp<2", "mcp-server-sqlite", "--db-path", "${workspace}/x.db"]
    async with host({"sqlite": {**UVX, "args": args, "state": "trajectory"}}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["sqlite"].error is None
        async with interpreter.sandbox("t") as sandbox:
            await sandbox.call("sqlite", "create_table", {"query": "CREATE TABLE t (a INT)"})
            await sandbox.call("sqlite", "write_query", {"query": "INSERT INTO t VALUES (7)"})
            answer = await sandbox.call("sqlite", "read_query", {"query": "SELECT a FROM t"})
            assert "7" in answer_text(answer)
            assert (sandbox.workspace / "x.db").exists()


@pytest.mark.skipif(shutil.which("npx") is None, reason="Node.js is not installed")
async def test_the_published_filesystem_server_works_in_the_workspace_under_its_recorded_name(host):
    packages = ["--package", "@modelcontextprotocol/server-filesystem@2025.8.21", "--package", "zod@3"]
    spec = {
        "command": "npx",
        "args": ["-y", *packages, "mcp-server-filesystem", "${workspace}"],
        "state": "trajectory",
        "startup_timeout": 240,
    }
    async with host({"fs": spec}, workspace={"recorded_as": ["/workspace/dumps/workspace"]}) as interpreter:
        await interpreter.start()
        assert interpreter.servers["fs"].error is None
        async with interpreter.sandbox("t") as sandbox:
            path = "/workspace/dumps/workspace/a.txt"
            written = await sandbox.call("fs", "write_file", {"path": path, "content": "x"})
            assert answer_text(written) == f"Successfully wrote to {path}"
            allowed = await sandbox.call("fs", "list_allowed_directories", {})
            assert "/workspace/dumps/workspace" in answer_text(allowed)
