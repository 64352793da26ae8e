"""Small things that a day of use found."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from rich.console import Console

from replay.cli.options import fail_conditions, found_by
from replay.cli.progress import _lines
from replay.cli.terminal import bar_on, echo_err
from replay.dag import Graph, to_dot
from replay.diagnosis.phrasing import counted
from replay.errors import UsageError
from replay.formats import open_file
from replay.records import Call, CallResult, Outcome, TextAnswer, Verdict
from replay.replayer import merge_trials
from replay.replayer.plan import Progress
from replay.safety.text import printable
from tests.in_process import replay_here
from tests.runs import call, failed, make_run, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]
COUNTS = {Outcome.SUCCESS: 94, Outcome.NOT_FOUND: 6, Outcome.INCONCLUSIVE: 100}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("failed", ["6 failed"]),
        ("not_found", ["6 not_found"]),
        ("not_found>5%", ["6 not_found (6.0 % of 100, more than 5 %)"]),
        ("not_found > 6 %", []),
        ("failed>5%,unknown_tool", ["6 failed (6.0 % of 100, more than 5 %)"]),
        ("inconclusive>40%", ["100 inconclusive (50.0 % of 200, more than 40 %)"]),
        ("illegal_format", []),
    ],
)
def test_fail_on_takes_failed_and_shares(text: str, found: list[str]) -> None:
    assert found_by(fail_conditions(text), COUNTS) == found


@pytest.mark.parametrize("text", ["fialed", "not_found>5", "not_found>many%", ">5%", "not_found>500%", "new>101%"])
def test_what_fail_on_does_not_understand_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-on: "):
        fail_conditions(text)


def test_fail_on_names_the_values_that_it_takes() -> None:
    with pytest.raises(UsageError, match="it takes failed, new, illegal_format"):
        fail_conditions("bogus")


def test_fail_on_failed_ends_with_one(tmp_path: Path, replay: Replay) -> None:
    write_trajectory(tmp_path / "t.trajectory.json", [failed("a/b", {"path": "x"}, "ENOENT: no such file 'x'")])
    done = replay("classify", "t.trajectory.json", "--offline", "--fail-on", "failed")
    assert done.returncode == 1
    assert "--fail-on: found 1 failed" in done.stderr


@pytest.mark.parametrize(
    "words", [("classify", "x.json", "--fail-on", "bogus"), ("figure", "bogus", "--run", "x.db"), ("xyzzy",)]
)
def test_a_name_that_is_like_none_is_told_those_that_there_are_and_no_nearest(
    tmp_path: Path, replay: Replay, words: tuple[str, ...]
) -> None:
    (tmp_path / "x.json").write_text("{}")
    make_run(tmp_path / "x.db", [write_trajectory(tmp_path / "t.trajectory.json", [])])
    done = replay(*words)
    assert done.returncode == 2
    assert "did you mean" not in done.stderr
    assert ("it takes failed" in done.stderr) or "there are " in done.stderr


def test_a_misspelt_verb_is_told_the_nearest(replay: Replay) -> None:
    done = replay("clasify", "x.json")
    assert done.returncode == 2
    assert "did you mean classify?" in done.stderr


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "trajectory", "1 trajectory"),
        (3, "trajectory", "3 trajectories"),
        (2, "key", "2 keys"),
        (2, "file", "2 files"),
    ],
)
def test_nouns_have_their_plural(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words


def test_one_other_file_is_one_file(tmp_path: Path, replay: Replay) -> None:
    for name in ("a", "b"):
        write_trajectory(tmp_path / f"{name}.trajectory.json", [call("a/b")])
        done = replay("classify", f"{name}.trajectory.json", "--offline")
    assert "also holds 1 other file;" in done.stderr


def test_a_server_that_is_down_shows_in_the_exit_code_of_check(replay: Replay, fleet_file: Callable[..., Path]) -> None:
    fleet_file(here="counter.py", down={"command": "no-such-program-here"})
    assert replay("servers", "check").returncode == 1
    assert replay("servers", "check", "here").returncode == 0
    assert replay("servers", "check", "down").returncode == 4


def test_the_graph_for_graphviz_keeps_the_order_of_the_steps(tmp_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("a/b", {"n": str(n)}) for n in range(3)])
    dot = to_dot(Graph(next(open_file(file).trajectories())))
    assert re.findall(r'"(s\dc1)" -> "(s\dc1)" \[style=invis\]', dot) == [("s1c1", "s2c1"), ("s2c1", "s3c1")]
    assert "newrank=true" in dot


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"),
        ("pay\u200dpal", "pay\\u200dpal"),
        ("\u200d\U0001f525", "\\u200d\U0001f525"),
        ("\ue000\U0001f468\u200d\U0001f469", "\ue000\U0001f468\\u200d\U0001f469"),
    ],
)
def test_the_joiner_inside_an_emoji_stays_and_elsewhere_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_call_that_comes_out_now_so_and_now_otherwise_is_not_certain() -> None:
    def result(outcome: Outcome) -> CallResult:
        verdict = Verdict(outcome=outcome, replayed=outcome, rule="r", evidence="replay", message="m", seconds=0.1)
        return CallResult(Call(position="s1c1"), verdict, answer=TextAnswer(text=str(outcome)))

    flaky, steady = [Outcome.SUCCESS, Outcome.NOT_FOUND], [Outcome.SUCCESS, Outcome.SUCCESS]
    assert merge_trials([[result(outcome)] for outcome in flaky])[0].verdict.certainty == "likely"
    assert merge_trials([[result(outcome)] for outcome in steady])[0].verdict.certainty == "certain"


def test_a_session_without_calls_is_no_model_in_any_table(tmp_path: Path) -> None:
    files = [
        write_trajectory(tmp_path / f"{model}.trajectory.json", calls, model=model)
        for model, calls in (("gpt", [call("a/b")]), ("silent", []))
    ]
    run = make_run(tmp_path / "run.db", files)
    printed = [replay_here(*verb, "--run", run).stdout for verb in (("report",), ("compare",))]
    printed.append(replay_here("figure", "leaderboard", "--data", "csv", "--run", run).stdout)
    assert [("gpt" in text, "silent" in text) for text in printed] == [(True, False)] * 3


def test_off_a_terminal_progress_is_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if sum(slept) > 25:
            raise TimeoutError

    monkeypatch.setattr(anyio, "sleep", sleep)
    with pytest.raises(TimeoutError):
        anyio.run(_lines, Progress(total=9))
    assert [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()] == ["calls: 0/9 done"] * 2


def test_watch_takes_offline_and_figure_tells_of_the_run_that_it_takes() -> None:
    assert "--offline" in replay_here("watch", "--help").stdout
    assert "Usage: replay figure [OPTIONS] NAME [RUN]" in replay_here("figure", "--help").stdout


def test_a_note_is_printed_above_the_bar_and_not_into_it(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(stderr=True, force_terminal=True, width=80)
    with bar_on(console), console.status("working"):
        echo_err("note: [red]one server[/red] is down")
    assert "note: [red]one server[/red] is down\n" in capsys.readouterr().err.replace("\r", "")
