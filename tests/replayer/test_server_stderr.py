"""What a server wrote to stderr during a call stands beside the call, and tells whose fault a bare error is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from replay.records import Judgement, Outcome, TextAnswer
from replay.replayer.verdict import with_stderr
from replay.runfile import Run, call_rows
from replay.runfile.effects_journal import EffectKey, Origin, SentCall
from replay.safety.redaction import Redactor

Replay = Callable[..., subprocess.CompletedProcess[str]]
NODE = "TypeError: x is undefined\n    at run (/srv/app/tool.js:12:7)\n"


def bare_error(certainty: str = "fallback") -> Judgement:
    return Judgement.model_validate(
        {
            "outcome": "invalid_arguments",
            "rule": "answer.error",
            "evidence": "replay",
            "certainty": certainty,
            "message": "An error.",
        }
    )


def test_a_stack_trace_beside_an_error_without_a_reason_is_the_servers_fault(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    fleet_file(masked="masked.py")
    tools = ("get", "explain", "quiet")
    results = results_file(t=[[(f"masked/{name}", {"id": f"x-{name}"})] for name in tools])
    assert replay("classify", results).returncode == 0
    with Run.read(tmp_path / "replay-run.db") as run:
        get, explain, quiet = call_rows(run)
    assert (get.outcome, get.reason, get.rule) == ("inconclusive", "server-fault", "replay.server-traceback")
    assert "the database is gone, asked for x-get" in get.message
    assert (explain.outcome, quiet.outcome) == ("invalid_arguments", "inconclusive")
    assert quiet.reason == "unexplained"
    assert "asked for x-explain" in (explain.stderr or "")
    assert "x-get" not in (explain.stderr or ""), "only what was written during this call"
    assert quiet.stderr is None
    text = replay("report", "--call", "t:s1c1").stdout
    assert "## What the server wrote to stderr during the call" in text
    assert "RuntimeError: the database is gone" in text
    assert "RuntimeError: the database is gone" in replay("report", "--format", "html").stdout


@pytest.mark.parametrize("stderr", [NODE, "panic: runtime error\n\ngoroutine 1 [running]:\n"])
def test_stack_traces_of_other_languages_count_too(stderr: str) -> None:
    assert with_stderr(bare_error(), stderr).outcome is Outcome.INCONCLUSIVE


@pytest.mark.parametrize(
    "stderr", ["", "INFO Processing request of type CallToolRequest\n", "warning: Traceback is off\n"]
)
def test_plain_log_lines_change_nothing(stderr: str) -> None:
    assert with_stderr(bare_error(), stderr) == bare_error()


def test_an_answer_that_explains_itself_stands() -> None:
    assert with_stderr(bare_error("certain"), NODE) == bare_error("certain")


def test_a_verdict_that_came_from_stderr_is_the_same_where_a_call_with_effects_is_not_sent_again(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    fleet_file(masked={"script": "masked.py", "effects": "all", "env": {"WRITES": "1"}})
    calls = [("masked/get", {"id": "x-get"})]
    assert replay("classify", results_file(t=[calls])).returncode == 0
    with Run.read(tmp_path / "replay-run.db") as run:
        (first,) = call_rows(run)
    assert (first.rule, first.stderr is None) == ("replay.server-traceback", False)
    again = replay("classify", results_file(t=[calls, [("masked/quiet", {"id": "x-quiet"})]]))
    assert "not sent again" in again.stderr
    with Run.read(tmp_path / "replay-run.db") as run:
        resumed, quiet = call_rows(run)
    assert (resumed.outcome, resumed.rule, resumed.message) == (first.outcome, first.rule, first.message)
    assert resumed.stderr == first.stderr
    assert quiet.stderr is None


def test_what_the_journal_keeps_of_a_call_holds_no_secret(tmp_path: Path) -> None:
    key, here = EffectKey("masked", "get", "a" * 64, 1), Origin("/results.json", "t", "")
    with Run.open(tmp_path / "run.db", redactor=Redactor({"hunter2-hunter2"})) as run:
        row = run.journal().note(here, key)
        run.journal().keep(row, TextAnswer(text="got hunter2-hunter2"), "Traceback: hunter2-hunter2")
        found = run.journal().find(here, key, lambda path, trajectory, key: True)
    assert found == SentCall(TextAnswer(text="got [REDACTED]"), "Traceback: [REDACTED]", row=row)


def test_a_verdict_that_came_from_stderr_is_the_same_offline_and_from_a_cassette(
    tmp_path: Path, replay: Replay, fleet_file: Callable[..., Path], results_file: Callable[..., Path]
) -> None:
    fleet_file(masked="masked.py")
    results = results_file(t=[[(f"masked/{name}", {"id": f"x-{name}"})] for name in ("get", "explain", "quiet")])
    live = json.loads(replay("classify", results, "--json").stdout)["calls"]
    assert live[0]["rule"] == "replay.server-traceback"
    exported = replay("cassette", "export", "answers.jsonl")
    assert "answers.jsonl: 3 answers" in exported.stderr
    for options in (("--offline",), ("--cassette", "answers.jsonl", "--run", "other.db")):
        again = json.loads(replay("classify", results, "--json", *options).stdout)["calls"]
        fields = ("outcome", "reason", "rule", "certainty", "message")
        assert [[call.get(field) for field in fields] for call in again] == [
            [call.get(field) for field in fields] for call in live
        ]
    with Run.read(tmp_path / "other.db") as run:
        get, explain, quiet = call_rows(run)
    assert "asked for x-explain" in (explain.stderr or "")
    assert (get.stderr is None, quiet.stderr) == (False, None)
