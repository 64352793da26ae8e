"""Failures known again from run to run: fingerprints, histories, and what is noted of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from replay.analysis.known_failures import NAME, add_known, failed_calls, find_known_file, read_known_file
from replay.errors import InputError
from replay.records.finding import KnownFailure
from replay.runfile import Run
from tests.in_process import Done, replay_here
from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.scripts import schema_of

Replay = Callable[..., Done]
Make = Callable[..., Path]
FILES = server("files", read=schema("path", "mode"), list=schema("path"))
GOOD = call("files/list", {"path": "/w"}, "b.txt")
LOST = failed("files/list", {"path": "/w/a.txt"}, "ENOENT: no such file or directory, open '/w/a.txt'")
BROKEN = failed("files/list", {}, "Input validation error: 'path' is a required property")


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    monkeypatch.chdir(tmp_path)
    return replay_here


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make("a", [calls])` makes the run `a.db`."""

    def make_(name: str, calls: list[dict[str, Any]], *, model: str = "gpt", task: str = "t") -> Path:
        (tmp_path / name).mkdir()
        file = write_trajectory(tmp_path / name / f"{task}.trajectory.json", calls, model=model)
        return make_run(tmp_path / f"{name}.db", [file], FILES)

    return make_


def marks(path: Path) -> list[str]:
    with Run.read(path) as run:
        return [one.fingerprint for one in failed_calls(run)]


def test_the_same_mistake_has_one_fingerprint_in_other_runs_models_and_values(make: Make) -> None:
    other = failed("files/list", {"path": "/tmp/x9/b.txt"}, "ENOENT: no such file or directory, open '/tmp/x9/b.txt'")
    first = marks(make("first", [LOST, BROKEN]))
    second = marks(make("second", [BROKEN, GOOD, other], model="claude", task="other"))
    assert first == [second[1], second[0]]
    assert len(set(first)) == 2


@pytest.mark.parametrize(
    "other",
    [
        failed("files/read", {"path": "/w/a.txt"}, "Input validation error: 'mode' is a required property"),
        failed("files/read", {"mode": "r"}, "Input validation error: 'path' is a required property"),
        failed("files/read", {"path": "/w", "mode": "r"}, "ENOENT: no such file or directory, open '/w'"),
        failed("files/list", {"path": 5}, "Input validation error: 5 is not of type 'string'"),
        failed("files/list", {"path": "/w"}, "Permission denied: '/w'"),
        call("files/lits", {"path": "/w"}, None),
    ],
)
def test_another_tool_field_or_error_has_another_fingerprint(make: Make, other: dict[str, Any]) -> None:
    found = marks(make("run", [LOST, BROKEN, other]))
    assert len(found) == len(set(found)) == 3


def test_times_numbers_and_ids_in_an_error_do_not_change_the_fingerprint(make: Make) -> None:
    said = "Cannot list {}: request 7f3a9c51-e2d8-4b06-a1b2-c3d4e5f60718 refused after {} ms at 2026-11-{}T10:00:00Z"
    calls = [
        failed("files/list", {"path": "/one"}, said.format("/one", 12, "01")),
        failed("files/list", {"path": "/two"}, said.format("/two", 9321, "22").replace("7f3a", "11aa")),
    ]
    assert len(set(marks(make("run", calls)))) == 1


def test_a_wrong_name_of_a_tool_has_one_fingerprint_whether_the_server_or_its_recorded_answer_tells(
    make: Make, tmp_path: Path
) -> None:
    known = make("run", [call("files/lits", {}, None)])
    wrong = write_trajectory(tmp_path / "t.trajectory.json", [failed("files/lits", {}, "Unknown tool: lits")])
    assert marks(known) == marks(make_run(tmp_path / "recorded.db", [wrong]))


def test_three_runs_tell_when_each_failure_was_first_and_last_seen(replay: Replay, make: Make) -> None:
    runs = [make("a", [LOST, GOOD]), make("b", [LOST, BROKEN]), make("c", [GOOD, BROKEN, call("files/lits", {}, None)])]
    document = json.loads(replay("diff", *runs, "--json").stdout)
    jsonschema.validate(document, schema_of("history"))
    assert (document["format"], document["version"]) == ("replay.history", 1)
    seen = {
        one["finding"]: (one["counts"], Path(one["first_seen"]).name, Path(one["last_seen"]).name)
        for one in document["failures"]
    }
    assert seen == {
        "nearly-a-tool": ([0, 0, 1], "c.db", "c.db"),
        "missing-field": ([0, 1, 1], "b.db", "c.db"),
        "missing-thing": ([1, 1, 0], "a.db", "b.db"),
    }
    assert [(one["worse"], one["better"]) for one in document["changes"]] == [(1, 0), (0, 1)]
    text = replay("diff", *runs).stdout
    assert "1 new, 0 known, 1 gone" in text
    assert "gone   1 -> 1 -> 0" in text


def test_runs_with_nothing_in_common_still_show_their_failures(replay: Replay, make: Make) -> None:
    runs = [make("a", [LOST], task="x"), make("b", [LOST], task="y"), make("c", [LOST], task="z")]
    done = replay("diff", *runs)
    assert done.returncode == 0
    assert "have no call in common" in done.stdout
    assert "1 -> 1 -> 1" in done.stdout


def test_two_runs_are_compared_in_full_and_by_fingerprint(replay: Replay, make: Make) -> None:
    runs = make("a", [LOST, GOOD]), make("b", [LOST, BROKEN])
    document = json.loads(replay("diff", *runs, "--json").stdout)
    jsonschema.validate(document, schema_of("diff"))
    assert [(one["finding"], one["counts"]) for one in document["failures"]] == [
        ("missing-field", [0, 1]),
        ("missing-thing", [1, 1]),
    ]


def test_a_known_failure_is_shown_by_every_verb_and_passed_over_by_fail_on_new(
    replay: Replay, make: Make, tmp_path: Path
) -> None:
    before, after = make("before", [GOOD, GOOD]), make("after", [GOOD, BROKEN])
    assert replay("diff", before, after, "--fail-on", "new").returncode == 1
    done = replay("known", "add", "t:s2c1", "--issue", "https://example.org/7", "--note", "soon", "--run", after)
    assert (done.returncode, done.stdout) == (0, "")
    (mark,) = marks(after)
    assert read_known_file(tmp_path / NAME).failures[mark].issue == "https://example.org/7"

    assert replay("diff", before, after, "--fail-on", "new").returncode == 0
    assert "known: soon, https://example.org/7" in replay("known", "list", "--run", after).stdout
    assert "## Known failures" in replay("report", after).stdout
    reported = json.loads(replay("report", after, "--format", "json").stdout)
    jsonschema.validate(reported, schema_of("report"))
    assert [(one["fingerprint"], one["known"] and one["known"]["note"]) for one in reported["calls"]] == [
        (None, None),
        (mark, "soon"),
    ]
    suite = ET.fromstring(replay("report", after, "--format", "junit").stdout)
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert "https://example.org/7" in replay("report", after, "--format", "html").stdout
    assert f"`{mark}`; known: soon" in replay("report", after, "--call", "t:s2c1").stdout


def test_classify_shows_what_is_known_and_fails_on_what_is_not(
    replay: Replay, results_file: Callable[..., Path], tmp_path: Path
) -> None:
    calls = [("files/read", {"path": "x"}, "Error: ENOENT: no such file or directory, open 'x'")]
    results = results_file(run=[calls])
    alone = replay("classify", results, "--offline", "--fail-on", "new")
    assert alone.returncode == 1
    assert "every failure is new" in alone.stderr
    assert "found 1 new failure" in alone.stderr
    (mark,) = marks(tmp_path / "replay-run.db")
    assert replay("known", "add", mark[:6], "--note", "soon").returncode == 0
    done = replay("classify", results, "--offline", "--fail-on", "new")
    assert done.returncode == 0
    assert "Known failures: 1 call; not known: 0 calls" in done.stdout
    document = json.loads(replay("classify", results, "--offline", "--json").stdout)
    jsonschema.validate(document, schema_of("run"))
    assert document["failures"][0]["known"]["note"] == "soon"


def test_a_fingerprint_that_nothing_has_is_said_in_a_sentence(replay: Replay, make: Make, tmp_path: Path) -> None:
    run = make("run", [BROKEN])
    add_known(tmp_path / NAME, "0123456789ab", KnownFailure(note="old"))
    done = replay("known", "list", "--run", run)
    assert done.returncode == 0
    assert "1 fingerprint matches no failure of the run: 0123456789ab" in done.stderr
    missing = replay("known", "add", "ffff", "--note", "x", "--run", run)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert f"nearest: {marks(run)[0]}" in missing.stderr


def test_add_keeps_what_people_wrote_into_the_file_and_remove_takes_one_out(
    replay: Replay, make: Make, tmp_path: Path
) -> None:
    run = make("run", [BROKEN, LOST])
    path = tmp_path / NAME
    path.write_text(
        "# ours\nformat: replay.known\nversion: 1\nfailures:\n  000000000012:  # all digits\n    note: 'old: one'\n"
    )
    for mark in marks(run):
        assert replay("known", "add", mark, "--note", "it's: #1 \u202e", "--run", run).returncode == 0
    assert path.read_text().startswith("# ours\n")
    assert "# all digits" in path.read_text()
    assert set(read_known_file(path).failures) == {"000000000012", *marks(run)}
    assert replay("known", "remove", "0000", "--run", run).returncode == 0
    assert set(read_known_file(path).failures) == set(marks(run))
    assert replay("known", "remove", "zz", "--run", run).returncode == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "is not a mapping; it begins with `format: replay.known`"),
        ("failures: {}", "format: expected `format: replay.known`"),
        ("format: replay.known\nversion: 2", "version: only version 1 is known"),
        ("format: replay.known\nversion: 1\nfailures:\n  xyz: {note: a}", "failures.xyz: is not a fingerprint"),
        ("format: replay.known\nversion: 1\nfailures:\n  0123456789ab: {}", "has neither issue nor note"),
        (
            "format: replay.known\nversion: 1\nfailures:\n  0123456789ab: {note: a, by: b}",
            "0123456789ab.by: is not a field",
        ),
        (
            "format: replay.known\nversion: 1\nfailures:\n  0123456789ab: {issue: 'javascript:1'}",
            "is not a web address",
        ),
        ("format: replay.known\nversion: 1\nfailures: [1]", "failures: input should be a valid dictionary"),
        ("format: [", "line 1, column"),
        ("a: 1\na: 2", "a stands twice"),
    ],
)
def test_a_broken_file_is_one_clear_error_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / NAME
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_known_file(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_the_file_is_looked_for_beside_the_run_then_here_then_up_to_the_repository(tmp_path: Path) -> None:
    deep, runs = tmp_path / "repo" / "a" / "b", tmp_path / "runs"
    deep.mkdir(parents=True)
    runs.mkdir()
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / NAME).write_text("outside the repository")
    assert find_known_file(runs / "run.db", deep) is None
    for place in (tmp_path / "repo", deep, runs):
        (place / NAME).write_text("format: replay.known\nversion: 1\n")
        assert find_known_file(runs / "run.db", deep) == place / NAME


def test_a_known_file_written_by_us_is_what_its_schema_says(tmp_path: Path) -> None:
    import yaml

    add_known(tmp_path / NAME, "0123456789ab", KnownFailure(issue="https://example.org/1"))
    jsonschema.validate(yaml.safe_load((tmp_path / NAME).read_text()), schema_of("known"))


def test_the_example_of_a_failure_is_found_again_among_the_runs_of_its_task(tmp_path: Path, replay: Replay) -> None:
    files = []
    for number in (1, 2):
        (tmp_path / f"run-{number}").mkdir()
        files.append(write_trajectory(tmp_path / f"run-{number}" / "t.trajectory.json", [BROKEN]))
    make_run(tmp_path / "run.db", files, FILES)
    [failure] = json.loads(replay("known", "list", "run.db", "--json").stdout)
    assert failure["address"] == "run-1:t:s1c1"
    assert replay("report", "--run", "run.db", "--call", failure["address"]).returncode == 0
