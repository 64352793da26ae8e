"""Two runs, or two models of one run, compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.scripts import schema_of

FILES = server("files", read=schema("path"), list=schema("path"))
GOOD = call("files/list", {"path": "/w"}, "b.txt")
LOST = failed("files/list", {"path": "/w"}, "ENOENT: no such file or directory, open '/w'")
BROKEN = failed("files/list", {}, "Input validation error")
UNKNOWN = call("files/list", {"path": "/w"}, None)
Replay = Callable[..., "subprocess.CompletedProcess[str]"]
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make("a", task=[calls])` makes the run `a.db`."""

    def make_(name: str, *, model: str = "gpt", **tasks: list[dict[str, Any]]) -> Path:
        (tmp_path / name).mkdir()
        files = [
            write_trajectory(tmp_path / name / f"{task}.trajectory.json", calls, model=model)
            for task, calls in tasks.items()
        ]
        return make_run(tmp_path / f"{name}.db", files, FILES)

    return make_


def test_better_worse_new_and_gone_calls_are_told_apart(replay: Replay, make: Make) -> None:
    before = make("before", t=[GOOD, LOST, BROKEN, UNKNOWN, GOOD], only_before=[GOOD])
    after = make("after", t=[LOST, GOOD, LOST, GOOD, GOOD], only_after=[LOST, GOOD])
    document = json.loads(replay("diff", before, after, "--json").stdout)
    assert (document["format"], document["version"]) == ("replay.diff", 1)
    jsonschema.validate(document, schema_of("diff"))

    def moved(kind: str) -> list[tuple[str, Any, Any]]:
        return [(one["call"], one.get("before"), one.get("after")) for one in document[kind]]

    assert moved("worse") == [("s1c1", "success", "not_found")]
    assert moved("better") == [("s2c1", "not_found", "success"), ("s3c1", "invalid_arguments", "not_found")]
    assert moved("unjudged") == [("s4c1", "inconclusive", "success")]
    assert [(one["trajectory"], one["after"]) for one in document["new"]] == [
        ("only_after", "not_found"),
        ("only_after", "success"),
    ]
    assert [one["trajectory"] for one in document["gone"]] == ["only_before"]
    assert document["common"] == 5
    assert document["tools"][0]["tool"] == "files/list"


def test_a_run_beside_itself_has_no_difference(replay: Replay, make: Make) -> None:
    run = make("run", t=[GOOD, LOST] * 20)
    told = replay("diff", run, run).stdout
    assert "There is no difference" in told
    assert "chance" not in told
    assert "0 calls new" in told
    one = make("one", t=[GOOD])
    assert "1 call in common" in replay("diff", one, one).stdout


def test_a_call_more_at_the_beginning_and_an_id_drawn_anew_make_nothing_else_new(replay: Replay, make: Make) -> None:
    def pay(drawn: str) -> list[dict[str, Any]]:
        return [call("shop/order", {"item": "kettle"}, drawn), failed("shop/pay", {"id": drawn}, "no such order")]

    before, after = make("before", t=pay("ord-48213")), make("after", t=[GOOD, *pay("ord-97341")])
    document = json.loads(replay("diff", before, after, "--json").stdout)
    assert (document["common"], document["worse"], document["gone"]) == (2, [], [])
    assert [change["tool"] for change in document["new"]] == ["files/list"]


def test_fail_on_worse_exits_with_1_and_only_then(replay: Replay, make: Make) -> None:
    before, after = make("before", t=[GOOD, LOST]), make("after", t=[LOST, GOOD])
    done = replay("diff", before, after, "--fail-on", "worse")
    assert (done.returncode, done.stderr) == (1, "replay: --fail-on: found 1 worse\n")
    assert replay("diff", before, after).returncode == 0
    assert replay("diff", before, before, "--fail-on", "worse,new").returncode == 0


def test_a_new_failure_is_found_where_it_is_asked_for(replay: Replay, make: Make) -> None:
    before, after = make("before", t=[GOOD]), make("after", t=[GOOD, LOST])
    assert replay("diff", before, after, "--fail-on", "worse").returncode == 0
    done = replay("diff", before, after, "--fail-on", "new")
    assert (done.returncode, done.stderr) == (1, "replay: --fail-on: found 1 new failure\n")


def test_two_models_of_one_run_are_compared_by_trajectory_and_position(
    replay: Replay, make: Make, tmp_path: Path
) -> None:
    first = write_trajectory(tmp_path / "one.trajectory.json", [GOOD, GOOD], model="a", id="t")
    second = write_trajectory(tmp_path / "two.trajectory.json", [LOST, GOOD], model="b", id="t")
    run = make_run(tmp_path / "run.db", [first, second], FILES)
    done = replay("diff", run, "--models", "a", "b")
    assert "2 calls in common: 1 worse with b, 0 better" in done.stdout
    assert "0 calls of b alone, 0 of a alone" in done.stdout
    assert "Failed calls: 0 of 2 (0.0 %) of a, 1 of 2 (50.0 %) of b." in done.stdout
    assert "files/list: 0 of 2 of a, 1 of 2 of b" in done.stdout
    assert not [word for word in ("before", "after", "gone", "new") if word in done.stdout]
    assert "b:t:s1c1  files/list  success -> not found" in done.stdout
    missing = replay("diff", run, "--models", "a", "bb")
    assert (missing.returncode, missing.stderr) == (2, f"replay: there is no model bb in {run}; nearest: b, a\n")


def test_runs_of_two_models_are_compared_where_each_has_one(replay: Replay, make: Make) -> None:
    done = replay("diff", make("before", t=[GOOD]), make("after", model="other", t=[LOST]))
    assert "1 call in common: 1 worse" in done.stdout


def test_runs_with_nothing_in_common_are_one_clear_line(replay: Replay, make: Make) -> None:
    done = replay("diff", make("before", one=[GOOD]), make("after", two=[GOOD]))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "have no call in common: the first has one:s1c1, the second two:s1c1" in done.stderr


def test_a_run_without_verdicts_and_a_missing_one_are_one_clear_line(
    replay: Replay, make: Make, tmp_path: Path
) -> None:
    from replay.runfile import Run

    Run.open(tmp_path / "empty.db").close()
    full = make("full", t=[GOOD])
    for other, words in (("empty.db", "this run has no verdicts yet"), ("none.db", "there is no run yet")):
        done = replay("diff", full, other)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr


def test_what_to_compare_must_be_said(replay: Replay, make: Make) -> None:
    run = make("run", t=[GOOD])
    for words in (
        [run],
        [run, run, "--models", "a", "b"],
        [run, run, "--fail-on", "better"],
        [run, run, "--fail-on", ""],
    ):
        done = replay("diff", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("before", "after", "p_value", "words"),
    [
        ([GOOD] * 6, [LOST] * 6, 2 / 64, "There are more failures than chance explains (McNemar's exact test: 0 fixed"),
        ([LOST] * 9, [GOOD] * 9, 2 / 512, "There are fewer failures than chance explains"),
        ([GOOD, LOST, GOOD, LOST], [LOST, GOOD, LOST, LOST], 1.0, "The difference may well be chance"),
    ],
)
def test_the_same_calls_of_two_runs_are_tested_as_pairs(
    replay: Replay, make: Make, before: list[Any], after: list[Any], p_value: float, words: str
) -> None:
    document = json.loads(replay("diff", make("before", t=before), make("after", t=after), "--json").stdout)
    assert document["p_value"] == pytest.approx(p_value)
    assert words in document["words"]


def test_calls_that_no_side_judged_are_not_tested_and_that_is_said(replay: Replay, make: Make) -> None:
    document = json.loads(replay("diff", make("before", t=[UNKNOWN]), make("after", t=[GOOD]), "--json").stdout)
    assert document.get("p_value") is None
    assert "There are too few calls for a test of the difference." in document["words"]


def test_two_models_have_the_p_value_that_compare_gives_them(replay: Replay, tmp_path: Path) -> None:
    files = [
        write_trajectory(tmp_path / f"{model}{task}.trajectory.json", calls, model=model, id=f"t{task}")
        for task in range(5)
        for model, calls in (("a", [GOOD, GOOD]), ("b", [LOST, GOOD if task else LOST]))
    ]
    run = make_run(tmp_path / "run.db", files, FILES)
    diffed = json.loads(replay("diff", run, "--models", "a", "b", "--json").stdout)
    compared = json.loads(replay("compare", run, "--metric", "success", "--json").stdout)
    assert diffed["p_value"] == compared["differences"][0]["p_value"] == pytest.approx(2 / 32)
    assert "paired by task, 5 tasks" in diffed["words"]


def test_what_a_server_says_of_its_tools_otherwise_is_told(replay: Replay, tmp_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [GOOD])
    renamed = schema("file_path", mode={"enum": ["a", "b"]})
    servers = [
        server("files", read=schema("path"), list=schema("path", mode={"enum": ["a", "b"]}), gone=schema()),
        server("files", read=renamed, list=schema("path", mode={"enum": ["b", "a"]}), new=schema()),
    ]
    runs = [make_run(tmp_path / f"{number}.db", [file], each) for number, each in enumerate(servers)]
    document = json.loads(replay("diff", *runs, "--json").stdout)
    jsonschema.validate(document, schema_of("diff"))
    changes = [(one["tool"], one["change"], one["pointer"]) for one in document["definitions"]]
    assert changes == [
        ("read", "changed", "/inputSchema/properties/path"),
        ("read", "changed", "/inputSchema/properties/file_path"),
        ("read", "changed", "/inputSchema/properties/mode"),
        ("read", "changed", "/inputSchema/required"),
        ("gone", "removed", ""),
        ("new", "added", ""),
    ]
    shown = replay("diff", *runs).stdout
    assert 'files/read: /inputSchema/required: ["path"] -> ["file_path"]' in shown
    assert "files/gone: removed" in shown
    assert "otherwise (" not in replay("diff", runs[0], runs[0]).stdout
    history = json.loads(replay("diff", runs[0], *runs, "--json").stdout)
    jsonschema.validate(history, schema_of("history"))
    assert [change["definitions"] for change in history["changes"]] == [[], document["definitions"]]
    shown = replay("diff", runs[0], *runs).stdout
    assert shown.count("otherwise from ") == 1
    assert f"What the servers say of their tools otherwise from {runs[0]} (2) to {runs[1]} (6)" in shown.splitlines()
    assert 'files/read: /inputSchema/required: ["path"] -> ["file_path"]' in shown


def test_beside_a_comparison_stands_what_rests_on_nothing_and_whose_fault_failures_are(
    replay: Replay, make: Make
) -> None:
    before = make("before", t=[GOOD, failed("files/read", {"path": "/a"}, "E1042")])
    after = make("after", t=[GOOD, failed("files/read", {"path": "/a"}, "HTTP 429 Too Many Requests")])
    shown = replay("diff", before, after).stdout
    assert "before: of 2 verdicts" in shown
    assert "after:  whose fault the 1 call without success is: the model's 0, the environment's 1" in shown
    over_time = replay("diff", before, after, after).stdout
    assert over_time.count("    Of 2 verdicts ") == 3
    assert over_time.count("    Whose fault the 1 call without success is") == 3
    document = json.loads(replay("diff", before, after, "--json").stdout)
    assert document["second"]["faults"] == {"model": 0, "environment": 1, "policy": 0, "unknown": 0}
