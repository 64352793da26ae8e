"""A server behind the recorder is the server itself, as far as its client can tell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from replay.records import RpcError, ToolResult, TransportFault
from tests.recorder.raw_client import LEDGER, SERVERS, RawClient, connect, proxy_command, recorded, shape


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "run.trajectory.json"


def test_a_call_and_its_answer_are_in_the_file_as_they_were_sent(output: Path) -> None:
    with connect(proxy_command(output, "--task", "What is alpha?", "--model", "m", "--id", "t1")) as client:
        client.initialize()
        answer = client.call("lookup", key="alpha")
        assert client.close() == 0

    trajectory = recorded(output)
    [call] = trajectory.calls()
    assert (trajectory.id, trajectory.model, trajectory.task.question) == ("t1", "m", "What is alpha?")
    assert trajectory.source.format == "recorder"
    assert trajectory.edges is None
    assert (call.position, call.name, call.server, call.tool) == ("s1c1", "lookup", "ledger", "lookup")
    assert call.arguments == {"key": "alpha"}
    assert isinstance(call.answer, ToolResult)
    assert list(call.answer.content) == answer["result"]["content"]
    assert call.started is not None
    assert call.seconds is not None
    assert call.seconds > 0
    assert not output.with_name(output.name + ".partial").exists()


def test_the_client_gets_the_servers_bytes_and_the_server_the_clients(output: Path, tmp_path: Path) -> None:
    odd = [
        b'{ "jsonrpc":"2.0",  "id":"a",\t"method":"ping" ,"params":{}}\r\n',
        (
            b'{"id":1.5,"jsonrpc":"2.0","method":"tools/call",'
            b'"params":{"name":"echo","arguments":{"text":"\\u00e9 \xc3\xa9 \\ud800"}}}\n'
        ),
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
        b"no json at all\n",
        b"\n",
        b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":null}}\n',
        b'{"jsonrpc":"2.0","id":8,"method":"nobody/knows"}\n',
    ]
    server_received, client_received = [], []
    for number, command in enumerate((LEDGER, proxy_command(output))):
        log = tmp_path / f"log-{number}"
        with connect(command, env={"LEDGER_LOG": str(log), "PATH": ""}) as client:
            for line in odd:
                client.write(line)
            assert client.process.stdin is not None
            client.process.stdin.close()
            assert client.process.stdout is not None
            client_received.append(client.process.stdout.read())
            client.process.wait(20)
        server_received.append([line for line in log.read_text().splitlines() if "mcp-replay" not in line])

    assert client_received[0].count(b"\n") == 7
    assert client_received[1] == client_received[0]
    assert server_received[1] == server_received[0]


def test_calls_that_overlap_are_one_step_and_later_ones_the_next(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("echo")
        together = client.send(*[("tools/call", {"name": "lookup", "arguments": {"key": key}}) for key in "abc"])
        assert set(client.receive(3)) == set(together)
        client.send(("tools/call", {"name": "hold"}))
        client.send(("tools/call", {"name": "release"}))
        client.receive(2)
        client.call("echo")
        client.close()

    assert shape(recorded(output)) == [["echo"], ["lookup"] * 3, ["hold", "release"], ["echo"]]


def test_calls_that_cannot_be_read_are_recorded_too(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.request("tools/call", {"name": "lookup", "arguments": "alpha"})
        client.request("tools/call", {"arguments": {"key": "alpha"}})
        client.request("tools/call", [])
        client.write(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"lookup\n')
        client.receive()
        client.close()

    calls = list(recorded(output).calls())
    assert [call.unreadable for call in calls] == ["arguments", "name", "call", "call"]
    assert [call.raw for call in calls[:2]] == ['"alpha"', None]
    assert calls[3].raw == '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"lookup'
    assert isinstance(calls[0].answer, RpcError)


def test_a_new_session_of_the_client_begins_a_new_trajectory(output: Path) -> None:
    with connect(proxy_command(output, "--id", "t")) as client:
        for key in ("alpha", "beta"):
            client.initialize()
            client.call("lookup", key=key)
        client.close()
    with connect(proxy_command(output, "--id", "t")) as client:
        client.initialize()
        client.close()

    names = ["run.trajectory.json", "run-2.trajectory.json", "run-3.trajectory.json"]
    assert sorted(path.name for path in output.parent.iterdir()) == sorted(names)
    files = [recorded(output.with_name(name)) for name in names]
    assert [file.id for file in files] == ["t", "t-2", "t"]
    assert [[call.arguments for call in file.calls()] for file in files] == [[{"key": "alpha"}], [{"key": "beta"}], []]


def test_the_servers_tools_are_in_the_file_whether_the_client_asked_or_not(output: Path) -> None:
    for asks in (True, False):
        with connect(proxy_command(output)) as client:
            client.initialize()
            if asks:
                client.request("tools/list", {})
            client.close()

    first, second = recorded(output), recorded(output.with_name("run-2.trajectory.json"))
    assert first.servers == second.servers
    [server] = first.servers
    assert (server.name, server.version, server.protocol) == ("ledger", "1.0", "2025-06-18")
    assert server.digest is not None
    assert {"lookup", "big"} <= {tool.name for tool in server.tools}


def test_tools_on_many_pages_are_all_kept(output: Path) -> None:
    command = (sys.executable, str(SERVERS / "paginated.py"))
    with connect(proxy_command(output, command=command)) as client:
        client.initialize()
        cursor, names = None, []
        while True:
            page = client.request("tools/list", {} if cursor is None else {"cursor": cursor})["result"]
            names += [tool["name"] for tool in page["tools"]]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        client.close()
    with connect(proxy_command(output, command=command)) as client:
        client.initialize()
        client.close()

    for path in (output, output.with_name("run-2.trajectory.json")):
        assert [tool.name for tool in recorded(path).servers[0].tools] == names


def test_a_batch_is_seen_through(output: Path) -> None:
    with connect(proxy_command(output, command=(sys.executable, "-c", BATCH_SERVER))) as client:
        calls = [
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "x", "arguments": {"n": number}},
            }
            for number in (1, 2)
        ]
        client.write(json.dumps(calls).encode() + b"\n")
        assert len(json.loads(client.line())) == 2
        client.close()

    trajectory = recorded(output)
    assert shape(trajectory) == [["x", "x"]]
    assert all(isinstance(call.answer, ToolResult) for call in trajectory.calls())


BATCH_SERVER = """
import json, sys
for line in sys.stdin:
    answers = [{"jsonrpc": "2.0", "id": one["id"], "result": {"content": []}} for one in json.loads(line)]
    print(json.dumps(answers), flush=True)
"""


def test_a_cancelled_call_is_a_fault_and_says_why(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        [identifier] = client.send(("tools/call", {"name": "hold"}))
        cancel = {
            "method": "notifications/cancelled",
            "params": {"requestId": identifier, "reason": "Request timed out"},
        }
        client.write(json.dumps({"jsonrpc": "2.0", **cancel}).encode() + b"\n")
        client.call("echo")
        client.close()

    trajectory = recorded(output)
    assert shape(trajectory) == [["hold"], ["echo"]]
    [held, _] = trajectory.calls()
    assert isinstance(held.answer, TransportFault)
    assert held.answer.fault == "timeout"


def test_a_call_that_asks_the_client_for_input_is_one_call(output: Path) -> None:
    with connect(proxy_command(output, command=(sys.executable, "-c", ASKING_SERVER))) as client:
        params = {"name": "buy", "arguments": {"what": "tea"}}
        asked = client.request("tools/call", params)["result"]
        client.request("tools/call", {**params, "requestState": asked["requestState"], "inputResponses": {"sure": {}}})
        client.close()

    [call] = recorded(output).calls()
    assert isinstance(call.answer, ToolResult)
    assert call.answer.content == ({"type": "text", "text": "bought"},)


ASKING_SERVER = """
import json, sys
for line in sys.stdin:
    got = json.loads(line)
    again = "requestState" in got.get("params", {})
    result = {"content": [{"type": "text", "text": "bought"}]} if again else {
        "resultType": "input_required", "requestState": "s", "inputRequests": {"sure": {}}}
    print(json.dumps({"jsonrpc": "2.0", "id": got["id"], "result": result}), flush=True)
"""


def test_secrets_reach_the_client_and_not_the_disk(output: Path) -> None:
    secret = "sk-abcdefghijklmnop0123456789"
    with connect(proxy_command(output, "--redact", "P-[0-9]+", "--task", f"use {secret}")) as client:
        client.initialize()
        answer = client.call("echo", text=f"{secret} and P-1234 and plain")
        partial = output.with_name(output.name + ".partial").read_bytes()
        client.close()

    assert answer["result"]["content"][0]["text"] == f"{secret} and P-1234 and plain"
    for written in (partial, output.read_bytes()):
        assert secret.encode() not in written
        assert b"P-1234" not in written
        assert b"and plain" in written


def test_a_thousand_parallel_calls_lose_nothing(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        sent = client.send(*[("tools/call", {"name": "echo", "arguments": {"text": str(n)}}) for n in range(1000)])
        received = client.receive(1000)
        client.close()

    assert sorted(received) == sent
    trajectory = recorded(output)
    assert len(trajectory.steps) == 1
    for call in trajectory.calls():
        assert isinstance(call.answer, ToolResult)
        assert call.answer.content[0]["text"] == (call.arguments or {})["text"]


def test_an_answer_of_twenty_megabytes_passes_whole(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        answer = client.call("big", megabytes=20)
        client.close()

    [call] = recorded(output).calls()
    assert answer["result"]["content"][0]["text"] == "x" * (20 << 20)
    assert isinstance(call.answer, ToolResult)
    assert len(call.answer.content[0]["text"]) == 20 << 20


def test_a_client_that_writes_before_it_reads_does_not_lock_up(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        text = "x" * 100_000
        for _ in range(10):
            client.send(*[("tools/call", {"name": "echo", "arguments": {"text": text}})])
        assert len(client.receive(10)) == 10
        client.close()


def test_one_line_on_stderr_says_what_was_recorded(output: Path, tmp_path: Path) -> None:
    errors = tmp_path / "stderr"
    with errors.open("wb") as stderr, connect(proxy_command(output), stderr=stderr) as client:
        RawClient.initialize(client)
        client.call("echo")
        client.close()

    assert errors.read_text() == f"replay: recorded 1 call in 1 step: {output}\n"
