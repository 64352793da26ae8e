"""What was not read stands in every table, with what it could change, and in the exit code."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from replay.records import Outcome
from replay.records.summary import Unread, UnreadEffect, UnreadFile
from replay.reports.basis import certainty_line, unread_lines

Replay = Callable[..., subprocess.CompletedProcess[str]]


def _chat(*answers: str, passed: bool | None = None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, answer in enumerate(answers):
        function = {"name": "store/pick", "arguments": json.dumps({"n": number})}
        called = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": answer},
        ]
    return {"messages": messages} | ({} if passed is None else {"pass": passed})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models of two tasks each; of the second model a file is cut off in its fourth call."""
    runs = tmp_path / "runs"
    runs.mkdir()
    for model in ("gpt", "kimi"):
        for task, passed in (("one", True), ("two", False)):
            text = json.dumps(_chat('{"id": 1}', "Error: no such thing", "It is done", '{"id": 4}', passed=passed))
            cut = model == "kimi" and task == "two"
            (runs / f"{model}_{task}.json").write_text(text[: text.index('"c3"')] if cut else text, "utf-8")
    return runs


NAMES = ("--names", "{model}_{task}.json")


def test_classify_has_a_row_and_a_line_for_what_was_not_read(replay: Replay, folder: Path) -> None:
    done = replay("classify", folder, "--offline", *NAMES)
    assert done.returncode == 3, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("not read: 1 file"))
    assert "0 of 4 or more" in row
    assert "Not in the table: 1 file (4 calls or more) could not be read: " in done.stdout
    assert "Success would lie between 56.2 % and 81.2 % if what was not read (taken as 4 calls)" in done.stdout


def test_strict_and_a_file_that_is_named_make_it_an_error(replay: Replay, folder: Path) -> None:
    assert replay("classify", folder, "--offline", *NAMES, "--strict").returncode == 2
    assert replay("classify", *sorted(folder.iterdir()), "--offline", *NAMES).returncode == 2
    assert replay("compare", folder, *NAMES, "--strict").returncode == 2


def test_json_names_the_files_that_were_not_read(replay: Replay, folder: Path) -> None:
    done = replay("classify", folder, "--offline", *NAMES, "--json")
    (file,) = json.loads(done.stdout)["summary"]["unread"]["files"]
    assert (file["path"], file["kind"], file["model"], file["calls"]) == (
        str(folder / "kimi_two.json"),
        "broken",
        "kimi",
        4,
    )
    assert "broken JSON" in file["message"]


def test_reports_of_the_run_tell_of_it_until_it_can_be_read(replay: Replay, folder: Path) -> None:
    replay("classify", folder, "--offline", *NAMES)
    for form in ("markdown", "html"):
        report = replay("report", "--format", form).stdout
        assert "not read: 1 file" in report
        assert "4 or more" in report
        assert "could not be read" in report
    suites = ET.fromstring(replay("report", "--format", "junit").stdout)
    assert any("could not be read" in (node.get("value") or "") for node in suites.iter("property"))
    assert json.loads(replay("report", "--format", "json").stdout)["summary"]["unread"]["files"]
    (folder / "kimi_two.json").write_text(json.dumps(_chat("fine")), "utf-8")
    assert replay("classify", folder, "--offline", *NAMES).returncode == 0
    assert "not read" not in replay("report").stdout


def test_compare_says_between_what_the_tasks_passed_would_lie(replay: Replay, folder: Path) -> None:
    done = replay("compare", folder, *NAMES)
    assert done.returncode == 3, done.stderr
    assert "not read: 1 file" in done.stdout
    assert "kimi: tasks passed would lie between 50.0 % and 100.0 %" in done.stdout
    document = json.loads(replay("compare", folder, *NAMES, "--json").stdout)
    assert document["unread"]["effects"][0]["model"] == "kimi"
    rows = list(csv.DictReader(replay("compare", folder, *NAMES, "--format", "csv").stdout.splitlines()))
    assert [(row["model"], row["value"]) for row in rows if row["measure"] == "unread_files"] == [("kimi", "1")]
    for form in ("markdown", "html"):
        document = replay("compare", folder, *NAMES, "--format", form).stdout
        assert "not read: 1 file" in document
        assert "could not be read" in document


def test_audit_says_between_what_the_share_of_tasks_passed_would_lie(replay: Replay, folder: Path) -> None:
    done = replay("audit", folder, *NAMES)
    assert done.returncode == 3, done.stderr
    assert "Tasks passed would lie between 50.0 % and 75.0 %" in done.stdout


def test_a_line_that_is_broken_and_a_file_that_only_speaks_of_calls_are_not_read_either(
    replay: Replay, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    whole = json.dumps(_chat("fine"))
    (runs / "lines.jsonl").write_text(f"{whole}\n{{broken\n{whole}\n", "utf-8")
    (runs / "silent.json").write_text(
        json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "tool_invocation": {"name": "x"}}])
    )
    done = replay("classify", runs, "--offline")
    assert done.returncode == 3, done.stderr
    assert "1 file could not be read as a whole: " in done.stdout
    assert "1 file gave no call, but may have some: " in done.stdout
    rows = [line for line in done.stdout.splitlines() if "silent" in line]
    assert len(rows) == 1, "a file without calls is no model"


def test_a_file_that_does_not_tell_is_taken_to_hold_as_many_calls_as_the_others() -> None:
    outcomes = {Outcome.SUCCESS: 6, Outcome.NOT_FOUND: 2, Outcome.INCONCLUSIVE: 4}
    effect = UnreadEffect.on_calls([UnreadFile(path="a", message="?")], outcomes, files_read=3)
    assert effect is not None
    assert (effect.count, effect.assumed) == (4, True)
    assert (effect.low, effect.high) == (6 / 12, 10 / 12)
    assert UnreadEffect.on_calls([UnreadFile(path="a", message="?")], {}, files_read=0) is None
    assert UnreadEffect.on_calls([UnreadFile(path="a", message="empty", most_calls=0)], outcomes, files_read=3) is None


def test_a_small_file_is_taken_to_hold_no_more_than_it_could_and_an_empty_list_is_no_trajectory(
    replay: Replay, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    text = json.dumps(_chat(*["fine"] * 30))
    (runs / "whole.json").write_text(text)
    (runs / "todo.json").write_text("[]\n")
    done = replay("classify", runs, "--offline")
    assert (done.returncode, "Not in the table" in done.stdout) == (0, False), done.stderr
    (runs / "half.json").write_text(text[:70])
    done = replay("classify", runs, "--offline")
    assert done.returncode == 3
    assert "(taken as 2 calls)" in done.stdout


def test_the_cause_comes_before_a_fleet_that_is_missing(replay: Replay, tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    (tmp_path / "folder").mkdir()
    for name, cause in (
        ("nofile.json", "no such file"),
        ("empty.json", "the file is empty"),
        ("folder", "no file in it"),
    ):
        done = replay("classify", name)
        assert done.returncode == 2
        assert cause in done.stderr.splitlines()[0]
        assert "servers.yaml" not in done.stderr


def test_the_shapes_that_are_read_are_listed_where_that_is_asked_for(replay: Replay, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    assert "Looked for" not in replay("classify", "a.json", "--offline").stderr
    assert "Looked for: a DAG file" in replay("classify", "a.json", "--offline", "--verbose").stderr


def test_what_rests_on_nothing_stands_beside_every_table_and_can_be_filtered(replay: Replay, folder: Path) -> None:
    assert "3 rest on nothing" in replay("classify", folder, "--offline", *NAMES).stdout
    for form in ("markdown", "html", "junit"):
        assert "3 rest on nothing" in replay("report", "--format", form).stdout
    assert json.loads(replay("report", "--format", "json").stdout)["summary"]["certainties"]["fallback"] == 3
    rows = list(
        csv.DictReader(replay("report", "--format", "csv", "--filter", "certainty:fallback").stdout.splitlines())
    )
    assert [row["certainty"] for row in rows] == ["fallback"] * 3
    assert "3 rest on nothing" in replay("compare").stdout
    figures = json.loads(replay("compare", "--json").stdout)["models"][0]["figures"]
    assert figures["unfounded"]["value"] == pytest.approx(0.25)
    assert "3 rest on nothing" in replay("tools").stdout


def test_one_is_told_in_the_singular() -> None:
    assert certainty_line({"fallback": 1}).startswith("Of 1 verdict 1 rests on nothing")
    file = UnreadFile(path="a.json", kind="broken", message="", model=None, calls=1)
    assert list(unread_lines(Unread(files=(file,)))) == [
        "Not in the table: 1 file (1 call or more) could not be read: a.json"
    ]
