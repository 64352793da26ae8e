"""Every command that a verb prints runs as it stands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Replay = Callable[..., subprocess.CompletedProcess[str]]
_COMMAND = re.compile(r"^(?:Next:| )*(replay (?:classify|report|shrink|servers) .*)$", re.MULTILINE)


@pytest.fixture
def run_of_two(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> str:
    """A run that is not called as usual, of two models with the same task ids; gives what `classify` printed."""
    fleet_file(
        "my fleet.json",
        bank={"script": "bank.py", "effects": "sandboxed"},
        late={"command": str(tmp_path / "no-such-program")},
    )
    calls = [[("bank/open", {"account": "A"})], [("bank/withdraw", {"account": "A"})], [("late/look", {})]]
    files = [results_file(f"{model}_test_mcp_fuzzy.json", task=calls) for model in ("one", "two")]
    done = replay("classify", *files, "--servers", "my fleet.json", "--run", "nightly.db")
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands_in(text: str) -> list[str]:
    return [command.strip() for command in _COMMAND.findall(text)]


def run_each(commands: list[str], replay: Replay) -> None:
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "replay"
        done = replay(*words)
        assert done.returncode == 0, (command, done.stderr)


def test_what_classify_says_to_do_next_can_be_done(replay: Replay, run_of_two: str, tmp_path: Path) -> None:
    commands = commands_in(run_of_two)
    assert commands == [
        "replay report --call one:task:s2c1 --run nightly.db",
        "replay report -o report.html --run nightly.db",
    ]
    run_each(commands, replay)
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert "replay browse --run nightly.db" in run_of_two


@pytest.mark.parametrize(
    ("scope", "count"),
    [(("--call", "one:task:s2c1"), 2), (("--call", "two:task:s3c1"), 1), (("--trajectory", "one:task"), 2)],
)
@pytest.mark.usefixtures("run_of_two")
def test_what_a_report_says_to_do_can_be_done(replay: Replay, scope: tuple[str, ...], count: int) -> None:
    text = replay("report", "--run", "nightly.db", *scope).stdout
    commands = commands_in(text)
    assert len(commands) == count
    run_each(commands, replay)


@pytest.mark.usefixtures("run_of_two")
def test_the_command_that_tries_a_server_names_the_fleet(replay: Replay) -> None:
    text = replay("report", "--run", "nightly.db", "--call", "one:task:s3c1").stdout
    found = re.search(r"replay servers check late --servers 'my fleet.json'", text.replace("\\", ""))
    assert found is not None, text


def test_the_name_of_the_output_tells_the_format(replay: Replay, tmp_path: Path) -> None:
    from tests.runs import call, make_run, write_trajectory

    make_run(tmp_path / "replay-run.db", [write_trajectory(tmp_path / "t.trajectory.json", [call("files/read")])])
    beginnings = {"a.html": "<!doctype html>", "a.md": "# ", "a.svg": "<svg", "a.xml": "<?xml", "a.json": "{"}
    for name, beginning in beginnings.items():
        assert replay("report", "-o", name).returncode == 0
        assert (tmp_path / name).read_text().startswith(beginning), name
    assert json.loads(replay("report", "--format", "json").stdout)
    assert replay("report", "--format", "md").stdout.startswith("# ")
    refused = replay("report", "--format", "md", "-o", "b.html")
    assert refused.returncode == 2
    assert "--format markdown does not go with b.html, whose name says html" in refused.stderr


def test_every_verb_takes_the_run_with_the_same_option(replay: Replay, tmp_path: Path) -> None:
    from tests.runs import call, make_run, write_trajectory

    make_run(tmp_path / "night.db", [write_trajectory(tmp_path / "t.trajectory.json", [call("files/read")])])
    for words in (
        ("report", "--format", "csv"),
        ("cassette", "export", "out.jsonl"),
        ("shrink", "--call", "t:s9c9"),
        ("export", "--format", "atif"),
    ):
        done = replay(*words, "--run", "night.db")
        assert "there is no run" not in done.stderr
        assert "unexpected" not in done.stderr
        assert "replay report [OPTIONS]" in replay("report", "--help").stdout
    two = replay("report", "night.db", "--run", "other.db")
    assert "two runs are named" in two.stderr
