"""Secrets of the fleet, and around a recorder, appear in nothing that is printed or written; files are private."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from replay.safety.redaction import secrets_around
from tests.conftest import SERVERS

KEY = "lk-7f3a9c51e2d84b06a1b2c3d4"
OPTION = "opt-55aa66bb77cc88dd"
LEAKY = f"""
import os, sys
sys.path.insert(0, {str(SERVERS)!r})
from raw import serve, text, tool
said = "x" * int(sys.argv[1]) + os.environ["SOME_API_KEY"] + " ".join(sys.argv[2:])
print(said, file=sys.stderr, flush=True)
if "--die" in sys.argv:
    sys.exit(3)
tools = [tool("say", "a"), {{**tool(said, said), "description": said, "annotations": {{said: said}}}}]
serve(tools, lambda name, arguments: text(said), name=said, version=said)
"""


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    script = tmp_path / "leaky.py"
    script.write_text(LEAKY)
    return script


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("verb", ["check", "tools"])
def test_the_verbs_for_servers_print_no_secret_that_a_server_says(
    replay: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, leaky: Path, verb: str
) -> None:
    def spec(*arguments: str) -> dict[str, object]:
        return {"command": sys.executable, "args": [str(leaky), *arguments], "env": {"SOME_API_KEY": "${SOME_API_KEY}"}}

    fleet = {"version": 1, "servers": {"a": spec("0"), "cut": spec("66"), "dead": spec("190", "--die")}}
    (tmp_path / "servers.yaml").write_text(json.dumps(fleet))
    for arguments in ([], ["--json"]):
        done = replay("servers", verb, *arguments, SOME_API_KEY=KEY)
        printed = done.stdout + done.stderr
        assert done.returncode == (1 if verb == "check" else 0), "one of the servers is dead"
        assert KEY[:8] not in printed
        assert "[REDACTED]" in printed


def test_a_recorder_takes_out_the_secrets_of_its_environment_and_of_the_command(tmp_path: Path, leaky: Path) -> None:
    target = tmp_path / "r.trajectory.json"
    server = [sys.executable, str(leaky), "0", "--access-token", OPTION]
    command = [sys.executable, "-m", "replay", "record", "-o", str(target), "--", *server]
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "say", "arguments": {"a": KEY}}},
    ]
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    environment = {**os.environ, "SOME_API_KEY": KEY}
    with umask(0):
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, env=environment, timeout=120, check=False
        )
    assert KEY in done.stdout  # what goes through is unchanged
    written = target.read_text()
    assert "[REDACTED]" in written
    assert KEY not in written
    assert OPTION not in written
    assert mode(target) == 0o600


def test_names_tell_which_variables_and_options_hold_secrets() -> None:
    environment = {"SOME_API_KEY": KEY, "HOME": "/home/someone", "DEBUG_TOKEN": "true"}
    assert secrets_around(environment) == {KEY}
    assert secrets_around({}, ["env", f"TOKEN={KEY}", "x", "--api-key", OPTION, "--secret=abcdefgh", "token", "y"]) == {
        KEY,
        OPTION,
        "abcdefgh",
    }


def test_run_files_logs_and_cassettes_are_private(
    replay: Callable[..., subprocess.CompletedProcess[str]],
    fleet_file: Callable[..., Path],
    results_file: Callable[..., Path],
    tmp_path: Path,
) -> None:
    fleet_file(counter={"script": "counter.py", "effects": "sandboxed", "state": "trajectory"})
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    results = results_file(**{f"t-{token}": [[("counter/nothing", {}, "x")]]})
    with umask(0):
        assert replay("classify", results, "--run", "run.db").returncode == 0
        assert replay("cassette", "export", "run.db", "answers.jsonl").returncode == 0
    made = [tmp_path / "run.db", tmp_path / "answers.jsonl", *(tmp_path / "run.logs").iterdir()]
    assert len(made) > 2
    assert {path.name: mode(path) for path in made} == {path.name: 0o600 for path in made}
    assert not [path for path in tmp_path.rglob("*") if token in path.name]
