"""Whatever dies: what was answered is in the file, the client gets proper errors, and no process is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from replay.records import ToolResult, TransportFault
from tests.recorder.raw_client import (
    INITIALIZE_PARAMS,
    LEDGER,
    REPLAY,
    SERVERS,
    all_exited,
    connect,
    descendants,
    proxy_command,
    recorded,
    shape,
)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "run.trajectory.json"


def partial_of(output: Path) -> Path:
    return output.with_name(output.name + ".partial")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = (*REPLAY, *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


NPX_LIKE = ("sh", "-c", f"{LEDGER[0]} {LEDGER[1]}; true")
"""A server behind a parent of its own, as `npx` and `uvx` start it."""


@pytest.mark.parametrize("command", [LEDGER, NPX_LIKE], ids=["direct", "behind a parent"])
def test_kill_9_of_the_recorder_loses_nothing_that_was_answered(output: Path, command: tuple[str, ...]) -> None:
    with connect(proxy_command(output, command=command)) as client:
        client.initialize()
        client.call("lookup", key="alpha")
        client.send(("tools/call", {"name": "hold"}))
        client.call("lookup", key="beta")
        processes = descendants(client.process)
        client.process.kill()
        client.process.wait()
        assert all_exited(processes)
    with partial_of(output).open("ab") as file:
        file.write(b'{"event":"call","t":1.0,"n":9,"mess')

    done = run("record", "--recover", str(partial_of(output)))

    assert done.returncode == 0
    assert done.stdout == ""
    assert str(output) in done.stderr
    assert not partial_of(output).exists()
    trajectory = recorded(output)
    assert shape(trajectory) == [["lookup"], ["hold", "lookup"]]
    alpha, held, beta = trajectory.calls()
    assert isinstance(alpha.answer, ToolResult)
    assert isinstance(beta.answer, ToolResult)
    assert isinstance(held.answer, TransportFault)
    assert held.answer.fault == "closed"


def test_a_server_that_ignores_the_end_of_its_input_does_not_outlive_a_killed_recorder(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("linger")
        processes = descendants(client.process)
        client.process.kill()
        client.process.wait()
        assert all_exited(processes)


def test_a_server_that_ignores_the_end_of_its_input_is_ended_with_the_session(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("linger")
        processes = descendants(client.process)
        client.close()
        assert all_exited(processes, within=2)

    assert shape(recorded(output)) == [["linger"]]


def test_kill_9_of_the_server_gives_the_client_proper_errors_and_finishes_the_file(output: Path) -> None:
    with connect(proxy_command(output), stderr=subprocess.PIPE) as client:
        client.initialize()
        client.call("lookup", key="alpha")
        pending = client.send(("tools/call", {"name": "hold"}), ("resources/list", {}), ("tools/call", {"name": "die"}))
        errors = client.receive(3)
        later = client.request("tools/call", {"name": "echo"})
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(20) != 0
        assert client.process.stderr is not None
        stderr = client.process.stderr.read().decode()

    assert [errors[identifier].get("error", {}).get("code") for identifier in pending] == [-32000, -32601, -32000]
    assert "SIGKILL" in errors[pending[0]]["error"]["message"]
    assert later["error"]["code"] == -32000
    assert stderr.count("\n") == 2
    assert "SIGKILL" in stderr
    trajectory = recorded(output)
    assert shape(trajectory) == [["lookup"], ["hold", "die"], ["echo"]]
    assert isinstance(next(trajectory.calls()).answer, ToolResult)
    for call in list(trajectory.calls())[1:]:
        assert isinstance(call.answer, TransportFault)
        assert call.answer.fault == "closed"


def test_kill_9_of_the_client_finishes_the_file_and_leaves_no_process(output: Path) -> None:
    script = (
        "import json, os, signal, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from tests.recorder.raw_client import *\n"
        "with connect(proxy_command(Path(sys.argv[2]))) as client:\n"
        "    client.initialize(); client.call('lookup', key='alpha')\n"
        "    client.send(('tools/call', {'name': 'hold'}))\n"
        "    print('ready', flush=True)\n"
        "    signal.pause()\n"
    )
    client = subprocess.Popen(
        (sys.executable, "-c", script, str(Path(__file__).parents[2]), str(output)), stdout=subprocess.PIPE
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"ready\n"
    processes = descendants(client)
    client.kill()
    client.wait()
    client.stdout.close()

    assert all_exited(processes, within=40)
    assert shape(recorded(output)) == [["lookup"], ["hold"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_file_and_ends_the_server(output: Path, number: int) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("lookup", key="alpha")
        processes = descendants(client.process)
        client.process.send_signal(number)
        assert client.process.wait(20) == 0
        assert all_exited(processes, within=5)

    assert shape(recorded(output)) == [["lookup"]]
    assert not partial_of(output).exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("no-such-command-anywhere",), "no-such-command-anywhere"),
        ((sys.executable, "-c", "import sys; sys.exit(3)"), "exited with status 3"),
        ((sys.executable, str(SERVERS / "dies_at_start.py")), "exited with status"),
    ],
    ids=["does not exist", "exits", "dies at start"],
)
def test_a_client_of_a_server_that_does_not_start_gets_a_proper_error(
    output: Path, command: tuple[str, ...], why: str
) -> None:
    with connect(proxy_command(output, command=command), stderr=subprocess.PIPE) as client:
        refused = client.request("server/discover", {})
        again = client.request("initialize", INITIALIZE_PARAMS)
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.stdout is not None
        rest = client.process.stdout.read()
        code = client.process.wait(20)
        assert client.process.stderr is not None
        stderr = client.process.stderr.read().decode().splitlines()

    for answer in (refused, again):
        assert answer["error"]["code"] == -32000
        assert why in answer["error"]["message"]
    assert rest == b""
    assert code != 0
    [line] = [line for line in stderr if line.startswith("replay: ")]
    assert why in line
    assert [path for path in output.parent.iterdir() if path.suffix == ".partial"] == []


@pytest.mark.parametrize("where", ["missing/run.trajectory.json", ".", "file/run.trajectory.json"])
def test_an_output_that_cannot_be_written_is_reported_before_the_server_starts(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    started = tmp_path / "started"

    done = run("record", "-o", str(tmp_path / where), "--", "touch", str(started))

    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not started.exists()


def test_a_second_recorder_on_one_file_refuses(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        second = run("record", "-o", str(output), "--", *LEDGER)
        assert second.returncode == 2
        assert "another recorder" in second.stderr
        assert run("record", "--recover", str(partial_of(output))).returncode == 2
        client.call("lookup", key="alpha")
        client.close()

    assert shape(recorded(output)) == [["lookup"]]


def test_a_second_recorder_refuses_also_when_the_first_is_at_its_second_file(output: Path) -> None:
    output.write_text("mine")
    with connect(proxy_command(output)) as client:
        client.initialize()
        assert run("record", "-o", str(output), "--", *LEDGER).returncode == 2
        client.close()

    assert output.read_text() == "mine"
    assert recorded(output.with_name("run-2.trajectory.json")).id == "run-2"


def test_a_recorder_that_is_restarted_while_the_last_one_finishes_waits_for_it(output: Path) -> None:
    with connect(proxy_command(output)) as first:
        first.initialize()
        with connect(proxy_command(output)) as second:
            first.close()
            second.initialize()
            second.close()

    assert {path.name for path in output.parent.iterdir()} == {"run.trajectory.json", "run-2.trajectory.json"}


def test_what_a_killed_recorder_left_is_saved_by_the_next(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("lookup", key="alpha")
        client.process.kill()
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("lookup", key="beta")
        client.close()

    first, second = recorded(output), recorded(output.with_name("run-2.trajectory.json"))
    assert [call.arguments for call in (*first.calls(), *second.calls())] == [{"key": "alpha"}, {"key": "beta"}]


def test_a_session_in_which_nothing_happened_leaves_no_file(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.close()

    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize("content", ["", "no recording\n", '{"format": "replay.recording", "version": 99}\n'])
def test_a_file_that_is_not_a_recording_is_refused(output: Path, content: str) -> None:
    partial_of(output).write_text(content)

    done = run("record", "--recover", str(partial_of(output)))

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert partial_of(output).read_text() == content


def test_recovery_never_overwrites(output: Path) -> None:
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.process.kill()
    output.write_text("mine")

    assert run("record", "--recover", str(partial_of(output))).returncode == 0
    assert output.read_text() == "mine"
    assert recorded(output.with_name("run-2.trajectory.json")).servers


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ((), "-o FILE"),
        (("-o", "x.json"), "-- COMMAND"),
        (("-o", "x.json", "--servers", "s.yaml", "--", "true"), "do not go together"),
        (("-o", "x.json", "--http", "1", "--", "true"), "--servers"),
        (("--recover", "x.partial", "-o", "x.json"), "stands alone"),
        (("--recover", "missing.partial"), "no such file"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(arguments: tuple[str, ...], hint: str) -> None:
    done = run("record", *arguments)

    assert done.returncode == 2
    assert hint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pattern_that_is_not_a_regular_expression_is_reported_before_the_server_starts(output: Path) -> None:
    done = run("record", "-o", str(output), "--redact", "(", "--", "touch", str(output))

    assert done.returncode == 2
    assert "not a regular expression" in done.stderr
    assert list(output.parent.iterdir()) == []


def test_a_full_disk_is_reported_and_the_agent_goes_on(output: Path) -> None:
    limit = (
        f"ulimit -f 8; exec {' '.join(map(str, proxy_command(output)[:1]))} -c 'from replay.cli import main; main()' "
    )
    command = ("sh", "-c", limit + " ".join(proxy_command(output)[3:]))
    with connect(command, stderr=subprocess.PIPE) as client:
        client.initialize()
        for _ in range(3):
            answer = client.call("echo", text="x" * 10_000)
            assert len(answer["result"]["content"][0]["text"]) == 10_000
        assert client.close() == 1
        assert client.process.stderr is not None
        stderr = client.process.stderr.read().decode()

    assert stderr.count("not all could be recorded") == 1


def test_everything_on_stdout_is_json_rpc_also_when_the_server_says_more(output: Path) -> None:
    before = psutil.Process().children()
    with connect(proxy_command(output)) as client:
        client.initialize()
        client.call("die")
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.stdout is not None
        for line in client.process.stdout.read().splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
    assert output.exists()
    assert psutil.Process().children() == before
