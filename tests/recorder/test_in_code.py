"""The recorder in an agent's own code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from replay.errors import UsageError
from replay.recorder import Recorder
from replay.records import RpcError, ToolResult, TransportFault
from tests.recorder.raw_client import LEDGER, SERVERS, recorded, shape


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.trajectory.json"


def ledger() -> Any:
    return stdio_client(StdioServerParameters(command=LEDGER[0], args=[LEDGER[1]]))


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_wrapped_client_records_its_calls_and_answers_as_before(path: Path, mode: Any) -> None:
    with Recorder(path, model="m", task="q", id="t", redact=["P-[0-9]+"]) as recorder:
        async with Client(ledger(), mode=mode) as client:
            session = recorder.wrap(client)
            result = await session.call_tool("lookup", {"key": "alpha"})
            assert result == await client.call_tool("lookup", {"key": "alpha"})
            with pytest.raises(MCPError, match="Unknown tool"):
                await session.call_tool("nobody", {})
            await session.call_tool("echo", {"text": "P-12"})
            assert session.server_capabilities == client.server_capabilities

    trajectory = recorded(path)
    assert recorder.path == path
    assert (trajectory.id, trajectory.model, trajectory.task.question) == ("t", "m", "q")
    assert shape(trajectory) == [["lookup"], ["nobody"], ["echo"]]
    lookup, nobody, echo = trajectory.calls()
    assert isinstance(lookup.answer, ToolResult)
    assert lookup.answer.content == ({"type": "text", "text": '{"alpha": 1}'},)
    assert isinstance(nobody.answer, RpcError)
    assert nobody.answer.code == -32602
    assert echo.arguments == {"text": "[REDACTED]"}
    assert (lookup.server, lookup.tool) == ("ledger", "lookup")
    [server] = trajectory.servers
    assert (server.name, server.version) == ("ledger", "1.0")
    assert "lookup" in {tool.name for tool in server.tools}
    assert server.digest is not None


@pytest.mark.anyio
async def test_a_wrapped_client_is_a_context_manager_as_the_client_is(path: Path) -> None:
    async with Recorder(path) as recorder, recorder.wrap(Client(ledger(), mode="legacy"), "books") as session:
        await session.call_tool("echo", {})

    assert [(call.server, call.tool) for call in recorded(path).calls()] == [("books", "echo")]


@pytest.mark.anyio
async def test_a_client_session_can_be_wrapped_too(path: Path) -> None:
    paginated = StdioServerParameters(command=sys.executable, args=[str(SERVERS / "paginated.py")])
    async with stdio_client(paginated) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = await session.list_tools()
        with Recorder(path) as recorder:
            await recorder.wrap(session).call_tool(listed.tools[0].name, {})

    assert len(recorded(path).servers[0].tools) > len(listed.tools)


@pytest.mark.anyio
async def test_calls_gathered_are_one_step_and_calls_awaited_in_turn_are_many(path: Path) -> None:
    with Recorder(path) as recorder:
        async with recorder.wrap(Client(ledger(), mode="legacy")) as session:
            async with anyio.create_task_group() as tasks:
                for key in ("alpha", "beta"):
                    tasks.start_soon(session.call_tool, "lookup", {"key": key})
            await session.call_tool("echo", {})
            await session.call_tool("echo", {})

    assert shape(recorded(path)) == [["lookup", "lookup"], ["echo"], ["echo"]]


@pytest.mark.anyio
async def test_a_step_marked_by_hand_holds_calls_awaited_in_turn(path: Path) -> None:
    with Recorder(path) as recorder:
        async with recorder.wrap(Client(ledger(), mode="legacy")) as session:
            recorder.step()
            await session.call_tool("echo", {})
            await session.call_tool("echo", {})
            with recorder.step():
                await session.call_tool("echo", {})
                recorder.unparsed("{nonsense")
                await session.call_tool("lookup", {"key": "alpha"})
            await session.call_tool("echo", {})
            await session.call_tool("echo", {})

    assert shape(recorded(path)) == [["echo", "echo"], ["echo", None, "lookup"], ["echo"], ["echo"]]


@pytest.mark.anyio
async def test_notes_keep_the_models_text_and_calls_that_nobody_could_read(path: Path) -> None:
    with Recorder(path) as recorder:
        async with recorder.wrap(Client(ledger(), mode="legacy")) as session:
            recorder.note("I look it up.")
            recorder.note("Both at once.")
            recorder.unparsed("lookup(key=")
            await session.call_tool("lookup", {"key": "alpha"})
            recorder.note("<tool>{broken", unparsed=True)
            recorder.note("It is 1.")

    trajectory = recorded(path)
    assert shape(trajectory) == [[None, "lookup"], [None]]
    assert trajectory.steps[0].text == "I look it up.\nBoth at once."
    assert trajectory.final_reply == "It is 1."
    first, _, last = trajectory.calls()
    assert (first.unreadable, first.raw, first.answer) == ("call", "lookup(key=", None)
    assert (last.unreadable, last.raw, last.answer) == ("call", "<tool>{broken", None)


@pytest.mark.anyio
async def test_calls_without_an_answer_are_faults(path: Path) -> None:
    with Recorder(path) as recorder:
        async with recorder.wrap(Client(ledger(), mode="legacy")) as session:
            with pytest.raises(MCPError):
                await session.call_tool("hold", {}, read_timeout_seconds=0.05)
            with anyio.move_on_after(0.05):
                await session.call_tool("hold", {})
            with pytest.raises(MCPError):
                await session.call_tool("die", {})

    faults = [call.answer for call in recorded(path).calls()]
    assert [fault.fault for fault in faults if isinstance(fault, TransportFault)] == ["timeout", "closed", "closed"]


@pytest.mark.anyio
async def test_two_sessions_in_one_trajectory_keep_their_names_apart(path: Path) -> None:
    with Recorder(path) as recorder:
        async with (
            recorder.wrap(Client(ledger(), mode="legacy")) as one,
            recorder.wrap(Client(ledger(), mode="legacy")) as two,
        ):
            await one.call_tool("echo", {})
            await two.call_tool("echo", {})

    trajectory = recorded(path)
    assert [call.server for call in trajectory.calls()] == ["ledger", "ledger-2"]
    assert [server.name for server in trajectory.servers] == ["ledger", "ledger-2"]


def test_a_recording_is_on_disk_before_it_is_closed(path: Path) -> None:
    recorder = Recorder(path)
    recorder.unparsed("half a call")

    assert b"half a call" in path.with_name(path.name + ".partial").read_bytes()
    assert recorder.close() == path
    assert recorder.close() == path


def test_two_recorders_on_one_file_do_not_go_together(path: Path) -> None:
    with Recorder(path), pytest.raises(UsageError, match="another recorder"):
        Recorder(path)


def test_an_earlier_trajectory_is_not_overwritten(path: Path) -> None:
    for _ in range(2):
        with Recorder(path) as recorder:
            recorder.note("nothing to do")

    assert recorder.path == path.with_name("agent-2.trajectory.json")
    assert recorded(recorder.path).final_reply == "nothing to do"
