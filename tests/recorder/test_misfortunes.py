"""Whatever dies: what was answered is in the file, the client hears of it properly, and no process is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from replay.records import ToolResult, TransportFault
from tests.recorder.wire import HELLO, LEDGER, REPLAY, SERVERS, descendants, gone, recorded, shape, shimmed, wired


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
    with wired(shimmed(output, command=command)) as wire:
        wire.hello()
        wire.call("lookup", key="alpha")
        wire.send(("tools/call", {"name": "hold"}))
        wire.call("lookup", key="beta")
        processes = descendants(wire.process)
        wire.process.kill()
        wire.process.wait()
        assert gone(processes)
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
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("linger")
        processes = descendants(wire.process)
        wire.process.kill()
        wire.process.wait()
        assert gone(processes)


def test_a_server_that_ignores_the_end_of_its_input_is_ended_with_the_session(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("linger")
        processes = descendants(wire.process)
        wire.close()
        assert gone(processes, within=2)

    assert shape(recorded(output)) == [["linger"]]


def test_kill_9_of_the_server_gives_the_client_proper_errors_and_finishes_the_file(output: Path) -> None:
    with wired(shimmed(output), stderr=subprocess.PIPE) as wire:
        wire.hello()
        wire.call("lookup", key="alpha")
        pending = wire.send(("tools/call", {"name": "hold"}), ("resources/list", {}), ("tools/call", {"name": "die"}))
        errors = wire.receive(3)
        later = wire.ask("tools/call", {"name": "echo"})
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(20) != 0
        assert wire.process.stderr is not None
        told = wire.process.stderr.read().decode()

    assert [errors[identifier].get("error", {}).get("code") for identifier in pending] == [-32000, -32601, -32000]
    assert "SIGKILL" in errors[pending[0]]["error"]["message"]
    assert later["error"]["code"] == -32000
    assert told.count("\n") == 2
    assert "SIGKILL" in told
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
        "from tests.recorder.wire import *\n"
        "with wired(shimmed(Path(sys.argv[2]))) as wire:\n"
        "    wire.hello(); wire.call('lookup', key='alpha')\n"
        "    wire.send(('tools/call', {'name': 'hold'}))\n"
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

    assert gone(processes, within=40)
    assert shape(recorded(output)) == [["lookup"], ["hold"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_file_and_ends_the_server(output: Path, number: int) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("lookup", key="alpha")
        processes = descendants(wire.process)
        wire.process.send_signal(number)
        assert wire.process.wait(20) == 0
        assert gone(processes, within=5)

    assert shape(recorded(output)) == [["lookup"]]
    assert not partial_of(output).exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("no-such-command-anywhere",), "no-such-command-anywhere"),
        ((sys.executable, "-c", "import sys; sys.exit(3)"), "exited with code 3"),
        ((sys.executable, str(SERVERS / "dies_at_start.py")), "exited with code"),
    ],
    ids=["does not exist", "exits", "dies at start"],
)
def test_a_client_of_a_server_that_does_not_start_gets_a_proper_error(
    output: Path, command: tuple[str, ...], why: str
) -> None:
    with wired(shimmed(output, command=command), stderr=subprocess.PIPE) as wire:
        refused = wire.ask("server/discover", {})
        again = wire.ask("initialize", HELLO)
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.stdout is not None
        rest = wire.process.stdout.read()
        code = wire.process.wait(20)
        assert wire.process.stderr is not None
        told = wire.process.stderr.read().decode().splitlines()

    for answer in (refused, again):
        assert answer["error"]["code"] == -32000
        assert why in answer["error"]["message"]
    assert rest == b""
    assert code != 0
    [line] = [line for line in told if line.startswith("replay: ")]
    assert why in line
    assert [path for path in output.parent.iterdir() if path.suffix == ".partial"] == []


@pytest.mark.parametrize("where", ["missing/run.trajectory.json", ".", "file/run.trajectory.json"])
def test_an_output_that_cannot_be_written_is_said_before_the_server_starts(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("")
    started = tmp_path / "started"

    done = run("record", "-o", str(tmp_path / where), "--", "touch", str(started))

    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not started.exists()


def test_a_second_recorder_on_one_file_refuses(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        second = run("record", "-o", str(output), "--", *LEDGER)
        assert second.returncode == 2
        assert "another recorder" in second.stderr
        assert run("record", "--recover", str(partial_of(output))).returncode == 2
        wire.call("lookup", key="alpha")
        wire.close()

    assert shape(recorded(output)) == [["lookup"]]


def test_a_second_recorder_refuses_also_when_the_first_is_at_its_second_file(output: Path) -> None:
    output.write_text("mine")
    with wired(shimmed(output)) as wire:
        wire.hello()
        assert run("record", "-o", str(output), "--", *LEDGER).returncode == 2
        wire.close()

    assert output.read_text() == "mine"
    assert recorded(output.with_name("run-2.trajectory.json")).id == "run-2"


def test_a_recorder_that_is_restarted_while_the_last_one_finishes_waits_for_it(output: Path) -> None:
    with wired(shimmed(output)) as first:
        first.hello()
        with wired(shimmed(output)) as second:
            first.close()
            second.hello()
            second.close()

    assert {path.name for path in output.parent.iterdir()} == {"run.trajectory.json", "run-2.trajectory.json"}


def test_what_a_killed_recorder_left_is_saved_by_the_next(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("lookup", key="alpha")
        wire.process.kill()
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("lookup", key="beta")
        wire.close()

    first, second = recorded(output), recorded(output.with_name("run-2.trajectory.json"))
    assert [call.arguments for call in (*first.calls(), *second.calls())] == [{"key": "alpha"}, {"key": "beta"}]


def test_a_session_in_which_nothing_happened_leaves_no_file(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.close()

    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize("content", ["", "no recording\n", '{"format": "replay.recording", "version": 99}\n'])
def test_a_file_that_is_no_recording_is_said_to_be_none(output: Path, content: str) -> None:
    partial_of(output).write_text(content)

    done = run("record", "--recover", str(partial_of(output)))

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert partial_of(output).read_text() == content


def test_recovery_never_overwrites(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.process.kill()
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
def test_options_that_make_no_sense_are_said_to_make_none(arguments: tuple[str, ...], hint: str) -> None:
    done = run("record", *arguments)

    assert done.returncode == 2
    assert hint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pattern_that_is_no_regular_expression_is_said_before_the_server_starts(output: Path) -> None:
    done = run("record", "-o", str(output), "--redact", "(", "--", "touch", str(output))

    assert done.returncode == 2
    assert "not a regular expression" in done.stderr
    assert list(output.parent.iterdir()) == []


def test_a_full_disk_is_said_and_the_agent_goes_on(output: Path) -> None:
    limit = f"ulimit -f 8; exec {' '.join(map(str, shimmed(output)[:1]))} -c 'from replay.cli import main; main()' "
    command = ("sh", "-c", limit + " ".join(shimmed(output)[3:]))
    with wired(command, stderr=subprocess.PIPE) as wire:
        wire.hello()
        for _ in range(3):
            answer = wire.call("echo", text="x" * 10_000)
            assert len(answer["result"]["content"][0]["text"]) == 10_000
        assert wire.close() == 1
        assert wire.process.stderr is not None
        told = wire.process.stderr.read().decode()

    assert told.count("not all could be recorded") == 1


def test_everything_on_stdout_is_json_rpc_also_when_the_server_says_more(output: Path) -> None:
    with wired(shimmed(output)) as wire:
        wire.hello()
        wire.call("die")
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.stdout is not None
        for line in wire.process.stdout.read().splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
    assert output.exists()
    assert psutil.Process().children() == []
