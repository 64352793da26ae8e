"""A second offline run of files that are as they were keeps their verdicts; whatever else changed judges them again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from replay.replayer import unchanged_files
from tests.in_process import replay_here
from tests.runs import call, failed, make_run, schema, server, write_trajectory

FLEET = "version: 1\nservers:\n  files:\n    command: nothing-here\n"
RULE = "    rules: [{id: odd, pattern: Odd, outcome: not_found}]\n"


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("one", "two"):
        calls = [call("files/read", {"path": name}, "Odd text"), failed("files/read", {"path": "b"}, "ENOENT: b")]
        write_trajectory(folder / f"{name}.trajectory.json", calls)
    Path("servers.yaml").write_text(FLEET)
    return folder


def kept(*options: str) -> tuple[str, int]:
    """What a run of the folder prints, and how many files it did not read again."""
    done = replay_here("classify", "--offline", *options, "results")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "unchanged: not read again" in line]
    return done.stdout, int(said[0].removeprefix("note: ").split()[0]) if said else 0


def test_unchanged_files_are_not_read_again_and_the_report_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept("--json")
    monkeypatch.setattr("replay.formats.results_file._guarded", None)
    monkeypatch.setattr("replay.formats.results_file._reader_of", None)
    assert (first[1], kept("--json")) == (0, (first[0], 2))


def test_a_changed_file_alone_is_read_again(results: Path) -> None:
    kept()
    write_trajectory(results / "one.trajectory.json", [call("files/read", {"path": "new"}, "text")])
    shown, files = kept("--json")
    assert files == 1
    assert len(json.loads(shown)["calls"]) == 3


def test_a_new_file_is_read_beside_those_that_keep_their_verdicts(results: Path) -> None:
    kept()
    write_trajectory(results / "three.trajectory.json", [call("files/read", {"path": "c"}, "text")])
    shown, files = kept("--json")
    assert (files, len(json.loads(shown)["calls"])) == (2, 5)


@pytest.mark.parametrize(
    "options", [["--only", "files/*"], ["--limit", "1"], ["--names", "{task}.trajectory.json"], ["--no-rebinding"]]
)
def test_other_options_judge_again(options: list[str]) -> None:
    kept()
    assert kept(*options)[1] == 0
    assert kept(*options)[1] == 2


def test_a_changed_rule_of_the_fleet_judges_again() -> None:
    assert "not_found" not in json.loads(kept("--json")[0])["calls"][0]["outcome"]
    Path("servers.yaml").write_text(FLEET + RULE)
    shown, files = kept("--json")
    assert (files, json.loads(shown)["calls"][0]["outcome"]) == (0, "not_found")


def test_another_version_of_the_program_judges_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept()
    monkeypatch.setattr(unchanged_files, "_program_digest", lambda: "another")
    assert kept()[1] == 0


def test_an_answer_that_the_run_stores_since_judges_again() -> None:
    kept()
    with closing(sqlite3.connect("replay-run.db")) as db, db:
        db.execute("INSERT INTO answers VALUES ('key', 'files', '', 'read', x'00')")
    assert kept()[1] == 0


def test_a_file_whose_verdicts_are_not_all_there_is_judged_again() -> None:
    kept()
    with closing(sqlite3.connect("replay-run.db")) as db, db:
        db.execute("UPDATE trajectories SET done = 0 WHERE id = 1")
    assert kept()[1] == 1


def test_fresh_judges_all_again() -> None:
    kept()
    assert kept("--fresh")[1] == 0


def test_a_cassette_judges_again_and_leaves_nothing_to_keep() -> None:
    kept()
    make_run(Path("other.db"), [Path("results/one.trajectory.json")], server("files", read=schema("path")))
    exported = replay_here("cassette", "export", "other.db", "c.jsonl")
    assert exported.returncode == 0, exported.stderr
    judged = replay_here("classify", "--cassette", "c.jsonl", "results")
    assert judged.returncode == 0, judged.stderr
    assert kept()[1] == 0


def test_a_changed_file_beside_judges_again(results: Path) -> None:
    task = results / "task-1"
    task.mkdir()
    asked = {
        "role": "user",
        "content": [{"type": "text", "text": "<task>\nRead a\n</task>\n<environment_details>\n</environment_details>"}],
    }
    use = {"type": "tool_use", "id": "1", "name": "read_file", "input": {"path": "a"}}
    answer = {"role": "user", "content": [{"type": "text", "text": "[read_file for 'a'] Result:\ntext"}]}
    history = [asked, {"role": "assistant", "content": [use]}, answer]
    (task / "api_conversation_history.json").write_text(json.dumps(history))
    beside = task / "task_metadata.json"
    beside.write_text(json.dumps({"model_usage": [{"model_id": "ada"}]}))
    kept()
    assert kept()[1] == 3
    beside.write_text(json.dumps({"model_usage": [{"model_id": "bob"}]}))
    shown, files = kept("--json")
    assert files == 2
    assert "bob" in {row["model"] for row in json.loads(shown)["calls"]}


def test_what_was_odd_about_a_file_is_told_again(results: Path) -> None:
    (results / "empty.json").write_text(json.dumps([{"role": "user", "content": "hello"}]))
    first = replay_here("classify", "--offline", "results").stderr
    second = replay_here("classify", "--offline", "results").stderr
    assert "no call in it" in first
    assert [line for line in first.splitlines() if line not in second.splitlines()] == []
