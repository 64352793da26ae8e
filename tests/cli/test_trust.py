"""What a fleet file starts is said before anything does, and asked about where the user wishes it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SERVERS
from tests.pseudo_terminal import terminal_of

Replay = Callable[..., subprocess.CompletedProcess[str]]

STARTING_VERBS = {
    "classify": ["classify", "results.json"],
    "classify --fresh": ["classify", "results.json", "--fresh"],
    "servers check": ["servers", "check"],
    "servers check NAME": ["servers", "check", "ledger"],
    "servers tools": ["servers", "tools"],
    "servers tools --json": ["servers", "tools", "--json"],
    "shrink": ["shrink", "--call", "t:s1c1"],
}
CALLS = [{"step": 1, "calls": [{"name": "ledger/fail", "arguments": {}, "result": "an error"}]}]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with results, a run, and a fleet file whose server leaves `started` behind."""
    script = tmp_path / "start.py"
    script.write_text(
        f"import pathlib, runpy, sys; pathlib.Path({str(tmp_path / 'started')!r}).touch(); "
        f"sys.path.insert(0, {str(SERVERS)!r}); runpy.run_path({str(SERVERS / 'counter.py')!r}, run_name='__main__')"
    )
    spec = {"command": sys.executable, "args": [str(script), "${SECRET:-plain}"], "effects": "all"}
    (tmp_path / "servers.yaml").write_text(json.dumps({"version": 1, "servers": {"ledger": spec}}))
    (tmp_path / "results.json").write_text(json.dumps([{"id": "t", "question": "?", "steps": CALLS}]))
    return tmp_path


@pytest.fixture
def run_in(clone: Path, replay: Replay) -> Replay:
    """Runs a verb in the folder; `shrink` on a run that is there."""

    def run(*words: str, **environment: str):
        if words[0] == "shrink" and not (clone / "replay-run.db").exists():
            assert replay("classify", "results.json", "--offline", cwd=clone).returncode == 0
        environment = {"XDG_CONFIG_HOME": str(clone / "config"), "XDG_DATA_HOME": str(clone / "data"), **environment}
        return replay(*words, cwd=clone, **environment)

    return run


@pytest.mark.parametrize("verb", STARTING_VERBS)
def test_the_fleet_file_and_its_commands_are_named_before_anything_starts(clone: Path, run_in, verb: str) -> None:
    done = run_in(*STARTING_VERBS[verb], SECRET="s3cr3t-value-x")
    lines = [line for line in done.stderr.splitlines() if line.startswith("servers.yaml starts")]
    assert len(lines) == 1, done.stderr
    assert shlex.quote(sys.executable) in lines[0]
    assert "${SECRET:-plain}" in lines[0]
    assert "s3cr3t-value-x" not in done.stderr
    assert (clone / "started").exists()


@pytest.mark.parametrize("verb", STARTING_VERBS)
def test_off_a_terminal_one_who_wants_to_be_asked_must_name_the_file(clone: Path, run_in, verb: str) -> None:
    done = run_in(*STARTING_VERBS[verb], REPLAY_TRUST="ask")
    assert done.returncode == 2
    assert "--servers servers.yaml" in done.stderr.splitlines()[-1]
    assert not (clone / "started").exists()

    run_in(*STARTING_VERBS[verb], "--servers", "servers.yaml", REPLAY_TRUST="ask")
    assert (clone / "started").exists()


@pytest.mark.parametrize(
    ("configured", "variable", "refused"),
    [
        ("trust: ask", None, True),
        ("trust: ask", "all", False),
        ("trust: all", "ask", True),
        ("trust: all", None, False),
        ("# nothing", None, False),
        ("trust: ask", "", True),
        ("trust: sometimes", None, True),
        ("trust: [ask]", None, True),
        ("other: 1", None, True),
        ("a: b: c", None, True),
        ("\x00", None, True),
        (None, "no", True),
        (None, None, False),
    ],
)
def test_the_users_configuration_and_the_environment_say_whether_to_ask(
    clone: Path, run_in, configured: str | None, variable: str | None, refused: bool
) -> None:
    if configured is not None:
        (clone / "config" / "mcp-replay").mkdir(parents=True)
        (clone / "config" / "mcp-replay" / "config.yaml").write_text(configured)
    done = run_in("servers", "check", **({} if variable is None else {"REPLAY_TRUST": variable}))
    assert (done.returncode == 2) == refused, done.stderr
    assert (clone / "started").exists() != refused


def test_a_verb_that_starts_nothing_names_no_fleet_and_asks_nothing(clone: Path, run_in) -> None:
    done = run_in("classify", "results.json", "--offline", REPLAY_TRUST="ask")
    assert done.returncode == 0
    assert "starts" not in done.stderr


def on_a_terminal(clone: Path, *answers: bytes) -> bytes:
    """`replay servers check` with the answers typed; all that it showed."""
    places = {"XDG_CONFIG_HOME": str(clone / "config"), "XDG_DATA_HOME": str(clone / "data")}
    words = ["-P", "-m", "replay", "servers", "check"]
    with terminal_of(words, clone, REPLAY_TRUST="ask", COLUMNS="200", **places) as terminal:
        for answer in answers:
            terminal.wait_for(b"[y/N]")
            terminal.send(answer)
        return terminal.read_to_end()


def test_a_file_is_asked_about_once_and_again_when_it_has_changed(clone: Path) -> None:
    assert b"nothing of servers.yaml was started" in on_a_terminal(clone, b"n\n")
    assert not (clone / "started").exists()
    assert b"counter" in on_a_terminal(clone, b"y\n")
    assert (clone / "started").exists()
    assert b"[y/N]" not in on_a_terminal(clone)

    (clone / "started").unlink()
    fleet = clone / "servers.yaml"
    fleet.write_text(fleet.read_text().replace("plain", "changed"))
    on_a_terminal(clone, b"\n")
    assert not (clone / "started").exists()


def test_a_copy_of_a_trusted_file_elsewhere_is_asked_about(clone: Path, tmp_path: Path) -> None:
    on_a_terminal(clone, b"y\n")
    other = clone / "other"
    other.mkdir()
    (other / "servers.yaml").write_text((clone / "servers.yaml").read_text())
    (other / "data").symlink_to(clone / "data")
    assert b"[y/N]" in on_a_terminal(other, b"n\n")


def test_a_fleet_of_many_servers_is_named_in_one_line_of_bounded_length(clone: Path, run_in) -> None:
    spec = {"command": "no-such-program", "args": ["x" * 50, "\x1b[31m\n"]}
    servers = {f"s{number}": spec for number in range(200)}
    (clone / "servers.yaml").write_text(json.dumps({"version": 1, "servers": servers}))
    done = run_in("servers", "check", "s0", "s1")
    assert done.stderr.count("no-such-program") < 10
    done = run_in("servers", "check")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("servers.yaml starts")]
    assert len(line) < 1500
    assert " more" in line
    assert "\x1b" not in done.stderr
