from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Replay = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]


@pytest.fixture
def one(results_file: Write) -> Path:
    return results_file(
        run=[[("plain/look", {}, "look")], [("plain/lok", {})], [("plain/look", "x")], [("other/look", {})]]
    )


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def one_clear_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    said = [line for line in lines(done.stderr) if line.startswith("replay:")]
    assert len(said) == 1, done.stderr
    for word in words:
        assert word in said[0]
    assert "Traceback" not in done.stdout + done.stderr


def test_the_table_shows_a_row_a_model_then_what_went_wrong(replay: Replay, fleet_file: Write, one: Path) -> None:
    done = replay("classify", one, "--servers", fleet_file(plain="annotated.py", other="dies_at_start.py"))
    assert done.returncode == 0
    table = lines(done.stdout)
    assert table[0].split() == ["illegal", "unknown", "invalid", "not", "well"]
    assert table[1].split()[:4] == ["model", "judged", "format", "tool"]
    assert " ".join(table[2].split()) == "tiny 3 of 4 (75 %) 1 33.3% 1 33.3% 0 0.0% 0 0.0% 1 33.3% 1 33.3% 1"
    assert "plain/lok" in done.stdout
    assert "server-unavailable" in done.stdout
    assert "Next: replay browse" in done.stdout
    note = next(line for line in lines(done.stderr) if "other: could not be started" in line)
    log = one.parent / note.rsplit("its log says more: ")[1]
    assert "no licence" in log.read_text()
    assert "    | Error: no licence" in done.stderr
    missing = replay(
        "classify", one, "--servers", fleet_file(plain="annotated.py", other={"command": "no-such-program"})
    )
    assert "'no-such-program' was not found" in missing.stderr
    assert "its log says more" not in missing.stderr  # what an earlier run wrote there is not this one's


def test_the_run_document_names_every_call(replay: Replay, fleet_file: Write, one: Path) -> None:
    done = replay("classify", one, "--servers", fleet_file(plain="annotated.py", other="dies_at_start.py"), "--json")
    document = json.loads(done.stdout)
    assert (document["format"], document["version"]) == ("replay.run", 1)
    assert [(call["call"], call["outcome"], call["reason"]) for call in document["calls"]] == [
        ("s1c1", "success", None),
        ("s2c1", "unknown_tool", None),
        ("s3c1", "illegal_format", None),
        ("s4c1", "inconclusive", "server-unavailable"),
    ]
    first = document["calls"][0]
    assert (first["file"], first["model"], first["trajectory"]) == (str(one), "tiny", "run")
    assert (first["recorded"], first["replayed"], first["drift"]) == ("success", "success", "same")
    assert document["calls"][1]["nearest"][0] == "plain/look"
    assert {server["name"]: bool(server["error"]) for server in document["servers"]} == {"other": True, "plain": False}
    assert document["summary"]["outcomes"]["success"] == 1


def test_csv_has_a_row_a_call(replay: Replay, one: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(replay("classify", one, "--offline", "--csv").stdout)))
    assert (rows[0]["call"], rows[0]["outcome"], rows[0]["evidence"]) == ("s1c1", "success", "recorded")
    assert len(rows) == 4


def test_offline_needs_no_fleet_and_starts_nothing(replay: Replay, one: Path, tmp_path: Path) -> None:
    done = replay("classify", one, "--offline")
    assert done.returncode == 0
    assert not (tmp_path / "replay-run.logs").exists()


def test_fail_on_gives_exit_code_1(replay: Replay, one: Path) -> None:
    one_clear_line(replay("classify", one, "--offline", "--fail-on", "illegal_format"), 1, "1 illegal_format")
    assert replay("classify", one, "--offline", "--fail-on", "not_found").returncode == 0
    one_clear_line(replay("classify", one, "--offline", "--fail-on", "notfound"), 2, "'notfound'", "not_found")
    one_clear_line(replay("classify", one, "--offline", "--fail-on", " ,"), 2, "--fail-on", "names nothing")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["no such file"]),
        ('[{"id": 1,}]', ["line 1, column 1", "broken JSON"]),
        ('{"a": 1}', ["unknown shape", "--verbose lists the shapes"]),
        ("[]", ["an empty list"]),
    ],
)
def test_a_bad_file_is_one_clear_line_and_the_others_go_on(
    replay: Replay, one: Path, tmp_path: Path, text: str | None, words: list[str]
) -> None:
    bad = tmp_path / "bad.json"
    if text is not None:
        bad.write_text(text)
    done = replay("classify", bad, one, "--offline")
    assert done.returncode == 2
    assert done.stdout.splitlines()[2].startswith("tiny")
    (line,) = [line for line in lines(done.stderr) if str(bad) in line]
    for word in words:
        assert word in line
    one_clear_line(replay("classify", "--offline", one, "--run", tmp_path / "bad" / "x.db"), 2, "cannot be written")


def test_files_of_a_folder_that_could_not_be_read_stand_beside_the_table_and_have_an_exit_code(
    replay: Replay, one: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    one.rename(folder / "good.json")
    (folder / "package.json").write_text('{"name": "x", "version": "1"}')
    assert replay("classify", folder, "--offline").returncode == 0
    (folder / "broken.json").write_text('[{"id": 1,}]')
    (folder / "other.json").write_text('{"task_name": "t", "task": "x", "agent": "a", "status": "done"}')
    (folder / "signs.json").write_text('[{"role": "assistant", "content": "x", "toolName": "search"}]')
    done = replay("classify", folder, "--offline")
    assert done.returncode == 3, done.stderr
    beside = [line for line in lines(done.stdout) if line.startswith("Not in the table:")]
    assert [line.partition(": ")[2].partition(": ")[0] for line in beside] == [
        "2 files could not be read", "1 file gave no call, but may have some",
    ]  # fmt: skip
    assert "this looks like a CrewAI log, which is not read" in done.stderr
    assert replay("classify", folder, "--offline", "--strict").returncode == 2


def test_without_a_fleet_file_it_says_what_to_do(replay: Replay, one: Path) -> None:
    one_clear_line(replay("classify", one), 2, "there is no servers.yaml here", "--servers", "--offline")


def test_a_typo_in_the_fleet_file_is_placed_and_the_right_field_named(
    replay: Replay, one: Path, tmp_path: Path
) -> None:
    fleet = tmp_path / "servers.yaml"
    fleet.write_text("version: 1\nservers:\n  plain:\n    comand: python\n    args: []\n")
    one_clear_line(replay("classify", one), 2, str(fleet.name), "line 4", "comand", "command")


def test_an_unset_variable_is_named(replay: Replay, results_file: Write, fleet_file: Write) -> None:
    fleet = fleet_file(plain={"script": "annotated.py", "env": {"KEY": "${NO_SUCH_VARIABLE_HERE}"}})
    done = replay("classify", results_file(run=[[("plain/look", {})]]), "--servers", fleet)
    assert done.returncode == 4
    assert "NO_SUCH_VARIABLE_HERE" in done.stderr


def test_no_server_at_all_is_exit_code_4(replay: Replay, results_file: Write, fleet_file: Write) -> None:
    fleet = fleet_file(plain={"command": "no-such-command-anywhere"}, other="dies_at_start.py")
    results = results_file(run=[[("plain/look", {}), ("other/look", {})]])
    one_clear_line(replay("classify", results, "--servers", fleet), 4, "no server could be started", "plain", "other")


@pytest.mark.parametrize(
    ("script", "tool", "outcome", "reason"),
    [
        ({"script": "hangs_in_call.py", "call_timeout": 1}, "hang", "inconclusive", "timeout"),
        ("dies_in_call.py", "die", "inconclusive", "server-fault"),
        ("garbage_on_stdout.py", "echo", "success", None),
        ("lists_twice.py", "echo", "success", None),
        ({"script": "hangs_at_start.py", "startup_timeout": 1}, "any", "inconclusive", "server-unavailable"),
        ("dies_at_start.py", "any", "inconclusive", "server-unavailable"),
    ],
)
def test_a_server_that_misbehaves_costs_only_its_own_calls(
    replay: Replay, results_file: Write, fleet_file: Write, script: Any, tool: str, outcome: str, reason: str
) -> None:
    fleet = fleet_file(bad=script if isinstance(script, dict) else {"script": script}, plain="annotated.py")
    document = json.loads(fleet.read_text())
    document["servers"]["bad"]["effects"] = "all"
    fleet.write_text(json.dumps(document))
    results = results_file(run=[[(f"bad/{tool}", {"text": "x"})], [("plain/look", {})]])
    done = replay("classify", results, "--servers", fleet, "--json")
    assert done.returncode == 0, done.stderr
    bad, good = json.loads(done.stdout)["calls"]
    assert (bad["outcome"], bad["reason"]) == (outcome, reason), bad
    assert good["outcome"] == "success"
    assert "Traceback" not in done.stderr


def test_fifty_megabytes_are_an_answer_like_another(replay: Replay, results_file: Write, fleet_file: Write) -> None:
    fleet = fleet_file(big={"script": "big_answer.py", "effects": "all", "call_timeout": 120})
    done = replay("classify", results_file(run=[[("big/big", {"megabytes": 50})]]), "--servers", fleet, "--json")
    (call,) = json.loads(done.stdout)["calls"]
    assert call["outcome"] == "success", call


def test_a_call_to_a_server_that_the_fleet_lacks_is_unknown_although_no_server_had_to_start(
    replay: Replay, results_file: Write, fleet_file: Write
) -> None:
    done = replay(
        "classify", results_file(run=[[("ocr/perform", {})]]), "--servers", fleet_file(plain="annotated.py"), "--json"
    )
    (call,) = json.loads(done.stdout)["calls"]
    assert call["outcome"] == "unknown_tool"


def test_debug_shows_the_traceback(replay: Replay) -> None:
    assert "Traceback" in replay("classify", "none.json", "--offline", "--debug").stderr
    assert "Traceback" not in replay("classify", "none.json", "--offline").stderr


def test_hostile_text_cannot_reach_the_terminal(replay: Replay, results_file: Write) -> None:
    evil = "s/\x1b[31mred\x1b]0;title\x07\u202e"
    done = replay("classify", results_file(run=[[(evil, {}, "Error: \x1b[2J not found")]]), "--offline")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\u202e" not in done.stdout


def test_fresh_overwrites_nothing_but_a_run_file(replay: Replay, one: Path, tmp_path: Path) -> None:
    notes, foreign = tmp_path / "notes.md", tmp_path / "other.db"
    notes.write_text("mine")
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for path in (notes, foreign, one):
        before = path.read_bytes()
        one_clear_line(replay("classify", one, "--offline", "--fresh", "--run", path), 2, "not a run file")
        assert path.read_bytes() == before


def test_the_table_is_of_the_files_that_were_named(replay: Replay, one: Path, results_file: Write) -> None:
    replay("classify", one, "--offline")
    other = results_file("other_test_mcp_fuzzy.json", run=[[("plain/look", {}, "look")]])
    done = replay("classify", other, "--offline", "--fail-on", "illegal_format")
    assert done.returncode == 0
    assert "tiny" not in done.stdout
    assert "also holds 1 other file;" in done.stderr
    assert {call["model"] for call in json.loads(replay("classify", other, "--offline", "--json").stdout)["calls"]} == {
        "other"
    }


def test_a_file_by_another_name_is_the_same_file(replay: Replay, one: Path) -> None:
    replay("classify", one.name, "--offline")
    done = replay("classify", one, "--offline", "--json")
    assert len(json.loads(done.stdout)["calls"]) == 4
    assert "other file" not in done.stderr


def test_a_glob_that_matches_no_call_is_an_error(replay: Replay, one: Path) -> None:
    one_clear_line(replay("classify", one, "--offline", "--only", "nope/*"), 2, "--only 'nope/*' matches no call")


@pytest.mark.parametrize(("glob", "matched"), [("plian/*", "none of the 4 calls"), ("plain/*", "3 of the 4 calls")])
def test_a_glob_drops_no_verdict_that_the_run_holds(replay: Replay, one: Path, glob: str, matched: str) -> None:
    before = replay("classify", one, "--offline", "--json").stdout
    one_clear_line(replay("classify", one, "--offline", "--only", glob), 2, matched, "--run", "--fresh")
    assert replay("classify", one, "--offline", "--json").stdout == before
    assert replay("classify", one, "--offline", "--only", "plain/*", "--fresh").returncode == 0
    assert replay("classify", one, "--offline", "--only", "plain/*").returncode == 0


def test_a_reader_that_goes_away_is_no_failure(replay: Replay, one: Path, tmp_path: Path) -> None:
    replay("classify", one, "--offline")
    command = f"{sys.executable} -m replay classify {one} --offline --csv | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_said_in_a_line(replay: Replay, one: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m replay classify {one} --offline --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in done.stderr


def test_a_workspace_template_that_is_not_there_is_an_error(replay: Replay, one: Path, fleet_file: Write) -> None:
    fleet = fleet_file(plain="annotated.py", workspace={"template": "nodir"})
    one_clear_line(replay("classify", one, "--servers", fleet), 2, "workspace.template", "nodir")
