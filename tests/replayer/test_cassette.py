from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.runfile import Run
from replay.runfile.rows import answers_of

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]
SECRET = "sk-live-4f9c2d7e8a1b6c3d5e7f"


def verdicts(done: subprocess.CompletedProcess[str]) -> list[tuple[Any, ...]]:
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout)["calls"]
    return [(c["trajectory"], c["call"], c["outcome"], c["rule"], c["replayed"], c["drift"]) for c in calls]


@pytest.fixture
def results(results_file: Write) -> Path:
    made = {"id": "a" * 32, "name": "x"}
    return results_file(
        one=[
            [("chain/create", {"name": "x"}, json.dumps(made))],
            [("chain/get", {"id": "a" * 32}, json.dumps(made)), ("notes/where", {})],
        ],
        two=[[("chain/get", {"id": "gone"})], [("notes/read", {"path": "/ws/none.txt"})]],
    )


@pytest.fixture
def fleet(fleet_file: Write) -> Path:
    return fleet_file(
        workspace={"recorded_as": ["/ws"]},
        chain={"script": "chain.py", "state": "trajectory", "effects": "sandboxed"},
        notes={"script": "notes.py ${workspace}", "state": "trajectory", "effects": "sandboxed"},
    )


@pytest.fixture
def cassette(replay: Replay, results: Path, fleet: Path, tmp_path: Path) -> Path:
    replay("classify", results, "--servers", fleet)
    done = replay("cassette", "export", "replay-run.db", "answers.jsonl")
    assert done.returncode == 0, done.stderr
    assert "answers.jsonl: 5 answers" in done.stderr
    return tmp_path / "answers.jsonl"


def test_a_cassette_gives_the_verdicts_of_the_run_without_a_server(
    replay: Replay, results: Path, fleet: Path, cassette: Path
) -> None:
    alive = verdicts(replay("classify", results, "--servers", fleet, "--json"))
    fleet.unlink()
    played = verdicts(replay("classify", results, "--cassette", cassette, "--run", "other.db", "--json"))
    assert played == alive


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
def test_trajectories_that_begin_alike_keep_their_own_answers(
    replay: Replay, results_file: Write, fleet: Path, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    files = []
    for letter, name in zip("abcd", ("1/one", "2/one", "3/one", "1/two"), strict=True):  # three attempts, two models
        (tmp_path / name).parent.mkdir(exist_ok=True)
        made = json.dumps({"id": letter * 32, "name": "x"})
        calls = [[("chain/create", {"name": "x"}, made)], [("chain/get", {"id": letter * 32}, made)]]
        files.append(results_file(f"{name}_test_mcp_fuzzy.json", task=calls))
    done = replay("classify", *files, "--servers", fleet, *workers)
    assert done.returncode == 0, done.stderr
    with Run.read(tmp_path / "replay-run.db") as run:
        for row in run.connection.execute("SELECT id FROM trajectories").fetchall():
            created, got = answers_of(run.connection, *row).values()
            assert created == got
    assert replay("cassette", "export", "replay-run.db", "answers.jsonl").returncode == 0
    strict = ("--cassette", "answers.jsonl", "--cassette-strict", "--run", "other.db")
    played = replay("classify", *files, *strict, *workers)
    assert played.returncode == 0, played.stderr


def test_a_torn_last_line_is_left_out_and_reported(replay: Replay, results: Path, cassette: Path) -> None:
    cassette.write_text(cassette.read_text()[:-40])
    done = replay("classify", results, "--cassette", cassette, "--run", "other.db")
    assert done.returncode == 0
    assert "the last line is cut off; it is left out" in done.stderr


def test_a_broken_line_elsewhere_is_placed(replay: Replay, results: Path, cassette: Path) -> None:
    lines = cassette.read_text().splitlines()
    cassette.write_text("\n".join([lines[0], lines[1][:50], *lines[2:]]))
    done = replay("classify", results, "--cassette", cassette, "--run", "other.db")
    assert done.returncode == 2
    assert "line 2" in done.stderr


def test_the_answers_of_servers_that_differ_are_not_used(
    replay: Replay, results: Path, fleet: Path, cassette: Path
) -> None:
    document = json.loads(fleet.read_text())
    document["servers"]["chain"]["args"].append("--changed")
    fleet.write_text(json.dumps(document))
    done = replay("classify", results, "--cassette", cassette, "--servers", fleet, "--run", "other.db", "--json")
    assert "server chain starts in another way (recorded from chain 1.2.3); its answers are not used" in done.stderr
    calls = json.loads(done.stdout)["calls"]
    assert {bool(call["replayed"]) for call in calls if call["server"] == "chain"} == {False}
    assert {bool(call["replayed"]) for call in calls if call["server"] == "notes"} == {True}


def test_a_cassette_of_other_servers_is_told_of_and_fails_where_it_must(
    replay: Replay, results_file: Write, cassette: Path
) -> None:
    other = results_file(other=[[("orders/find", {"id": 1}, "an order")]])
    done = replay("classify", other, "--cassette", cassette, "--run", "other.db")
    said = "answers.jsonl was not used: no call is of its servers (chain, notes)"
    assert (done.returncode, said in done.stderr) == (0, True), done.stderr
    done = replay("classify", other, "--cassette", cassette, "--cassette-strict", "--run", "other.db")
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr


def test_what_is_not_a_cassette_is_refused(replay: Replay, results: Path) -> None:
    done = replay("classify", results, "--cassette", results)
    assert done.returncode == 2
    assert "expected a cassette" in done.stderr


def test_an_existing_file_needs_force(replay: Replay, cassette: Path) -> None:
    again = replay("cassette", "export", "replay-run.db", cassette)
    assert (again.returncode, "overwrite it with --force" in again.stderr) == (2, True)
    assert replay("cassette", "export", "replay-run.db", cassette, "--force").returncode == 0


def test_a_run_without_answers_has_nothing_to_export(replay: Replay, results: Path) -> None:
    replay("classify", results, "--offline")
    done = replay("cassette", "export", "replay-run.db", "x.jsonl")
    assert done.returncode == 2
    assert "holds no answers of servers, as no call was sent" in done.stderr
    assert "--servers FLEET" in done.stderr


def test_secrets_are_in_neither_run_nor_cassette(
    replay: Replay, results_file: Write, fleet_file: Write, tmp_path: Path
) -> None:
    fleet = fleet_file(
        notes={
            "script": "notes.py ${workspace}",
            "state": "trajectory",
            "effects": "sandboxed",
            "env": {"KEY": "${KEY}"},
        }
    )
    results = results_file(
        run=[
            [("notes/write", {"path": "/workspace/a.txt", "text": f"key {SECRET} AKIAIOSFODNN7EXAMPLE"})],
            [("notes/read", {"path": "/workspace/a.txt"})],
        ]
    )
    assert replay("classify", results, "--servers", fleet, KEY=SECRET).returncode == 0
    assert replay("cassette", "export", "replay-run.db", "answers.jsonl").returncode == 0
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path not in (results, fleet)]
    assert any(path.name == "answers.jsonl" for path in kept)
    for path in kept:
        assert SECRET.encode() not in path.read_bytes(), path
        assert b"AKIAIOSFODNN7EXAMPLE" not in path.read_bytes(), path
    shown = replay("classify", results, "--servers", fleet, "--json", KEY=SECRET)
    assert SECRET not in shown.stdout + shown.stderr
