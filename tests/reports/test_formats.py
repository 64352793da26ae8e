"""What each report holds."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from replay.errors import UsageError
from replay.reports import Selection, render
from replay.reports.csv_ import COLUMNS, REPORT_COLUMNS
from replay.runfile import Run
from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.scripts import schema_of

FILES = server("files", read=schema("path"), list=schema("path"))
MISSING = "ENOENT: no such file or directory, open '/w/old/b.txt'"
Replay = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    calls = [
        call("files/list", {"path": "/w"}, "b.txt"),
        failed("files/read", {"path": "/w/old/b.txt"}, MISSING),
        failed("files/read", {}, "Input validation error"),
        call("files/read", {"path": "/w/b.txt"}, "text"),
        call("files/list", {"path": "/w/b.txt"}, None),
    ]
    one = write_trajectory(tmp_path / "task-1.trajectory.json", calls)
    other = write_trajectory(tmp_path / "task-2.trajectory.json", calls[:2], model="other")
    return make_run(tmp_path / "run.db", [one, other], FILES)


@pytest.fixture
def run(run_path: Path) -> Run:
    return Run.read(run_path)


def test_the_markdown_of_a_call_has_all_that_a_bug_report_needs(run: Run) -> None:
    text = render(run, "markdown", Selection(call="task-1:s3c1"))
    assert text.startswith("# `files/read`: invalid arguments (`task-1:s3c1`)\n")
    for part in ("## The call", "## Recorded and replayed", "## Why it is invalid arguments", "## Schema violations"):
        assert part in text
    assert 'The required field "path" is missing' in text
    assert '**Add "path" (string); s4c1 has "/w/b.txt" there.**' in text
    assert "| `files` | `files` | `1.0` | `2025-06-18` |" in text
    assert "replay shrink" in text
    assert "--call task-1:s3c1" in text


def test_the_markdown_of_a_trajectory_lists_its_calls_and_findings(run: Run) -> None:
    text = render(run, "markdown", Selection(trajectory="task-1"))
    assert text.startswith(
        "# Trajectory `task-1` of `gpt`: 1 invalid arguments, 1 not found, 2 success, 1 inconclusive"
    )
    assert "| `s2c1` | `files/read` | **not found** |" in text
    assert "was repaired 2 calls later by s4c1" in text


def test_the_markdown_of_a_run_has_a_row_a_model(run: Run) -> None:
    text = render(run, "markdown")
    assert "| `gpt` | 1 | 5 | 0 (0.0 %) | 0 (0.0 %) | 1 (25.0 %) | 1 (25.0 %) | 2 (50.0 %) | 3 (75.0 %) | 1 |" in text
    assert "7 calls of 2 models: **3 failed**, 1 inconclusive." in text
    assert "`other`" not in render(run, "markdown", Selection(model="gpt"))


def test_junit_has_a_case_a_call_grouped_by_trajectory(run: Run) -> None:
    root = ET.fromstring(render(run, "junit"))
    assert [(suite.get("name"), suite.get("tests")) for suite in root.iter("testsuite")] == [
        ("gpt: task-1", "5"),
        ("other: task-2", "2"),
    ]
    cases = next(root.iter("testsuite")).findall("testcase")
    assert [next((child.tag for child in case), "passed") for case in cases] == [
        "passed",
        "failure",
        "failure",
        "passed",
        "skipped",
    ]
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("7", "3", "1")
    assert [child.tag for child in root] == ["testsuite", "testsuite"]
    first, second = root
    told = [each.get("value") or "" for each in first[0]]
    assert first[0].tag == "properties"
    assert any(line.startswith("Of 7 verdicts") for line in told)
    assert second.find("properties") is None


def test_csv_has_stable_columns_and_a_row_a_call(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(render(run, "csv"))))
    assert tuple(rows[0]) == REPORT_COLUMNS
    assert REPORT_COLUMNS[:17] == COLUMNS[:17]
    assert COLUMNS[-1] == REPORT_COLUMNS[-1] == "fault"
    assert len(rows) == 7
    assert rows[2]["finding"] == "missing-field"
    assert len(render(run, "csv", Selection(call="task-1:s2c1")).splitlines()) == 2


def test_json_holds_every_finding(run: Run) -> None:
    document = json.loads(render(run, "json"))
    jsonschema.validate(document, schema_of("report"))
    assert (document["format"], document["version"]) == ("replay.report", 1)
    by_call = {(one["trajectory"], one["call"]): one for one in document["calls"]}
    assert by_call["task-1", "s3c1"]["explanations"][0]["kind"] == "missing-field"
    assert {one["kind"] for one in document["findings"]} >= {"failing-tool", "failing-server"}
    assert {one["kind"] for one in document["trajectories"][0]["findings"]} >= {"repaired"}


def test_an_unknown_id_names_the_nearest_and_an_ambiguous_one_asks(run: Run) -> None:
    with pytest.raises(UsageError, match=r"there is no call task-1:s9c1 in this run; nearest: task-1:s1c1"):
        render(run, "markdown", Selection(call="task-1:s9c1"))
    with pytest.raises(UsageError, match=r"there is no trajectory tusk-1 in this run; nearest: task-1, task-2"):
        render(run, "markdown", Selection(trajectory="tusk-1"))
    with pytest.raises(UsageError, match=r"there is no model gtp in this run; nearest: gpt"):
        render(run, "csv", Selection(model="gtp"))
    with pytest.raises(UsageError, match=r"a call's id looks like TRAJECTORY:s2c1"):
        render(run, "markdown", Selection(call="nonsense"))


def test_a_model_or_a_file_tells_equal_trajectories_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = write_trajectory(tmp_path / "a" / "same.trajectory.json", [call("files/list", {"path": "/w"})])
    two = write_trajectory(tmp_path / "b" / "same.trajectory.json", [call("files/list", {"path": "/w"})], model="other")
    with Run.read(make_run(tmp_path / "run.db", [one, two], FILES)) as run:
        with pytest.raises(UsageError, match="is the id of 2 calls; say which: gpt:same:s1c1, other:same:s1c1"):
            render(run, "markdown", Selection(call="same:s1c1"))
        assert "`other` called" in render(run, "markdown", Selection(call="other:same:s1c1"))
        assert "`gpt` called" in render(run, "markdown", Selection(call=f"{one}:same:s1c1"))


def test_a_run_without_verdicts_is_one_clear_line(tmp_path: Path, replay: Replay) -> None:
    Run.open(tmp_path / "empty.db").close()
    done = replay("report", "empty.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "replay: empty.db: this run has no verdicts yet; make some with: replay classify results/*.json\n"
    )


def test_a_file_that_exists_is_kept_without_force(tmp_path: Path, replay: Replay, run_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    done = replay("report", run_path, "--format", "html", "-o", "report.html")
    assert (done.returncode, done.stderr) == (2, "replay: report.html exists; overwrite it with --force\n")
    assert (tmp_path / "report.html").read_text() == "mine"
    done = replay("report", run_path, "--format", "html", "-o", "report.html", "--force")
    assert done.returncode == 0
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_two_selections_do_not_go_together(replay: Replay, run_path: Path) -> None:
    done = replay("report", run_path, "--call", "task-1:s1c1", "--model", "gpt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_call_that_was_not_judged_by_a_failure_gets_no_shrink_and_no_recorded_answers(tmp_path: Path) -> None:
    calls = [call("nowhere/x", {"a": 1}, "fine"), {"raw": "<tool_call>{", "unreadable": "call"}]
    file = write_trajectory(tmp_path / "odd.trajectory.json", calls)
    with Run.read(make_run(tmp_path / "odd.db", [file], server("files", list=schema("path")))) as run:
        unjudged = render(run, "markdown", Selection(call="odd:s1c1"))
        illegal = render(run, "markdown", Selection(call="odd:s2c1"))
    assert "replay shrink" not in unjudged
    assert "replay shrink" in illegal
    assert "no server was asked, as the form of the call decided" in illegal


def test_a_sentence_that_is_too_long_ends_in_an_ellipsis_and_nothing_else(tmp_path: Path) -> None:
    refused = failed(
        "files/read", {"path": "/w/old/b.txt"}, f"Access denied: {'/w/old/b.txt is locked and ' * 20}so on"
    )
    path = write_trajectory(tmp_path / "task-1.trajectory.json", [refused] * 9)
    with Run.read(make_run(tmp_path / "run.db", [path], FILES)) as run:
        page, text = render(run, "html"), render(run, "markdown", Selection(call="task-1:s1c1"))
    assert re.search(r'"says":"[^"]{200,240}…"', page)
    assert "as in task-1:s1c1" in page
    assert "…." not in page + text


def test_the_page_tells_the_runs_of_a_task_apart(tmp_path: Path, run: Run) -> None:
    paths = []
    for number in (1, 2):
        (tmp_path / f"run-{number}").mkdir()
        paths.append(
            write_trajectory(tmp_path / f"run-{number}" / "t.trajectory.json", [failed("files/read", {}, "no")])
        )
    with Run.read(make_run(tmp_path / "several.db", paths, FILES)) as several:
        page = render(several, "html")
    assert re.findall(r'"id":"t","name":"([^"]*)"', page) == ["run-1:t", "run-2:t"]
    assert re.findall(r'"name":"(task-[^"]*)"', render(run, "html")) == ["task-1", "task-2"]
