"""The reproduction that `replay shrink` prints: it fails, as written, as the recorded call did."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from replay.diagnosis.failure_words import failure_words
from replay.errors import UsageError
from replay.formats import open_file
from replay.interpreter import Fleet
from replay.records import Call
from replay.runfile import Run, call_rows
from replay.safety.redaction import Redactor
from replay.shrinking import Shrunk, confirm, shrink, write_repro
from tests.conftest import SERVERS
from tests.recorder.raw_client import connect, proxy_command

Replay = Callable[..., subprocess.CompletedProcess[str]]


def record_todo(output: Path, *calls: tuple[str, dict[str, str]]) -> None:
    """A recording of one server, in which the tools have no server before their name."""
    command = proxy_command(output, command=(sys.executable, str(SERVERS / "todo.py")))
    with connect(command, stderr=subprocess.DEVNULL) as client:
        client.initialize()
        client.request("tools/list", {})
        for name, arguments in calls:
            client.request("tools/call", {"name": name, "arguments": arguments})
        assert client.close() == 0


@pytest.fixture
def shrunk(tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path]) -> Callable[..., str]:
    """Records the calls, replays them, shrinks the last, and gives the command that is printed."""

    def make(*calls: tuple[str, dict[str, str]]) -> str:
        record_todo(tmp_path / "todo.trajectory.json", *calls)
        fleet_file(mine={"script": "todo.py", "effects": "sandboxed"})
        assert replay("classify", "todo.trajectory.json").returncode == 0
        done = replay("shrink", "replay-run.db", "--call", f"todo:s{len(calls)}c1", "--pytest")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return make


def outcomes(run_path: Path) -> list[tuple[str, str]]:
    with Run.read(run_path) as run:
        return [(row.outcome, row.message) for row in call_rows(run)]


def test_a_recording_with_bare_tool_names_gives_a_reproduction_that_fails_alike(
    tmp_path: Path, replay: Replay, shrunk: Callable[..., str]
) -> None:
    command = shlex.split(shrunk(("add", {"title": "milk", "due": "now"}), ("done", {"id": "77"})))
    assert "mine:" in (tmp_path / "repro" / "repro.servers.yaml").read_text()
    assert not (tmp_path / "repro" / "repro.db").exists(), "the trial leaves nothing beside the two files"
    assert command[0] == "replay"
    assert replay(*command[1:]).returncode == 0
    ((outcome, message),) = outcomes(tmp_path / "repro" / "repro.db")
    assert outcome == "not_found"
    assert "not found" in message


def test_the_files_stand_alone_on_another_machine(
    tmp_path: Path, replay: Replay, shrunk: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    command = shrunk(("add", {"title": "milk", "due": "now"}), ("done", {"id": "77"}))
    assert str(tmp_path) not in command
    files = [path for path in (tmp_path / "repro").rglob("*") if path.is_file()]
    written = {"repro.trajectory.json", "repro.servers.yaml", "test_repro.py", "todo.py", "raw.py"}
    assert {path.name for path in files} == written
    for path in (tmp_path / "repro").glob("*repro.*"):
        for place in (tmp_path, SERVERS, Path(sys.prefix), Path.home()):
            assert str(place) not in path.read_text()
    assert "# To run it, this is needed: replay, Python." in (tmp_path / "repro" / "repro.servers.yaml").read_text()
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "repro"
    (tmp_path / "repro").rename(elsewhere)
    done = replay(*shlex.split(command)[1:], cwd=elsewhere.parent)
    assert done.returncode == 0, done.stderr
    assert [outcome for outcome, _ in outcomes(elsewhere / "repro.db")] == ["not_found"]
    options = ["-q", "-p", "no:cacheprovider", "test_repro.py"]
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", *options], cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert 'call.outcome == "success"' in tested.stdout, tested.stdout


def test_an_argument_whose_absence_is_another_failure_stays(tmp_path: Path, shrunk: Callable[..., str]) -> None:
    shrunk(("add", {"title": "milk", "colour": "white"}))
    document = json.loads((tmp_path / "repro" / "repro.trajectory.json").read_text())
    ((call,),) = (step["calls"] for step in document["steps"])
    assert call["arguments"] == {"title": "milk"}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("'title' is a required property", "'id' is a required property", False),
        ("no item 'aaaa bbbb cccc'", "no item 'aaaa bbbb'", True),
        ("no item 'aaaa...cccc'", "no item 'aaaa bbbb'", True),
        (
            "[type=missing, input_value={'a': 1}, input_type=dict]",
            "[type=missing, input_value={}, input_type=dict]",
            True,
        ),
        ("2 of 17 items failed", "1 of 4 items failed", True),
    ],
)
def test_two_messages_are_the_same_where_only_values_differ(first: str, second: str, same: bool) -> None:
    long = Call(position="s1c1", name="t", arguments={"item": "aaaa bbbb cccc"})
    short = Call(position="s1c1", name="t", arguments={"item": "aaaa bbbb"})
    assert (failure_words(first, long) == failure_words(second, short)) is same


def test_a_reproduction_that_does_not_fail_again_is_not_left_behind(
    tmp_path: Path, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    results = results_file(t=[[("bank/withdraw", {"account": "A"})]])
    fleet = Fleet.load(fleet_file(bank={"script": "bank.py", "effects": "sandboxed"}))
    trajectory = next(open_file(results).trajectories())

    async def find() -> Shrunk:
        return await shrink(trajectory, "s1c1", fleet, logs=tmp_path / "logs")

    shrunk = anyio.run(find)
    repro = write_repro(shrunk, fleet, tmp_path / "repro")
    repro.fleet.write_text("{version: 1, servers: {}}")
    with pytest.raises(UsageError, match=r"does not fail again when it is run by itself.*s1c1 is "):
        confirm(repro, shrunk, Redactor())
    assert not list((tmp_path / "repro").glob("*"))
