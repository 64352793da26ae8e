"""`replay judge`, against a scripted endpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT, record
from tests.servers.openai_protocol import Reply, in_turn, scripted

Replay = Callable[..., subprocess.CompletedProcess[str]]
CALLS = [[("shop/find", {"name": "kettle"}, "14 of 10400")]]


@pytest.fixture
def judges_file(tmp_path: Path) -> Callable[..., Path]:
    def write(*names: str, url: str, **fields: Any) -> Path:
        path = tmp_path / "judges.yaml"
        judge = {"base_url": url, "retries": 0, **fields}
        path.write_text(json.dumps({"version": 1, "judges": {name: {**judge, "model": f"m-{name}"} for name in names}}))
        return path

    return write


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "tiny_test_mcp_fuzzy.json"
    path.write_text(
        json.dumps([{**record(name, CALLS, f"Find {name}."), "final_reply": "14"} for name in ("one", "two", "three")])
    )
    return path


def completion(score: float) -> Reply:
    return Reply(json.dumps({"completion_rate": score}))


def test_every_judge_rates_every_task_run_and_a_second_run_asks_nothing(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    def script(request: dict[str, Any]) -> Reply:
        return completion({"m-a": 0.0, "m-b": 0.4, "m-c": 0.6, "m-d": 1.0}[request["model"]])

    with scripted(script) as server:
        judges = judges_file("a", "b", "c", "d", url=server.url)
        first = replay("judge", results, "--judges", judges, "--protocol", "m3", "--json")
        assert first.returncode == 0, first.stderr
        assert len(server.requests) == 12
        again = replay("judge", results, "--judges", judges, "--protocol", "m3", "--json")
        assert len(server.requests) == 12
    assert again.stdout == first.stdout
    assert "nothing is asked" in again.stderr
    assert f"sending 3 prompts to a: m-a at {server.url}, secrets taken out" in first.stderr
    report = json.loads(first.stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "judge.schema.json").read_text()))
    (model,) = report["models"]
    assert model["measures"][0] == {
        "name": "completion_rate",
        "mean": pytest.approx(0.5),
        "deviation": 0.0,
        "task_runs": 3,
    }
    assert (model["judgements"], model["missing"]) == (12, 0)
    assert report["prompts"] == ["m3-completion/1", "m3-grounding/1"]
    assert len(report["agreement"]) == 6


def test_a_dry_run_asks_nothing_and_says_how_much_it_would(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    with scripted(in_turn(completion(1))) as server:
        judges = judges_file("a", url=server.url)
        done = replay("judge", results, "--judges", judges, "--protocol", "mcpbench", "--dry-run")
        assert server.requests == []
    assert "15 requests, about " in done.stdout


def test_an_unreadable_reply_is_asked_for_once_more_and_then_missing(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    prose = Reply("It did rather well.")
    with scripted(in_turn(prose, completion(0.5), prose, prose, completion(0.7))) as server:
        judges = judges_file("a", url=server.url)
        done = replay("judge", results, "--judges", judges, "--protocol", "m3", "--jobs", "1", "--json")
        assert len(server.requests) == 5
        assert replay("judge", results, "--judges", judges, "--protocol", "m3").returncode == 0
        assert len(server.requests) == 5
    (model,) = json.loads(done.stdout)["models"]
    assert (model["judgements"], model["missing"]) == (2, 1)
    assert model["measures"][0]["mean"] == pytest.approx(0.6)


def test_a_judge_that_is_not_there_is_one_sentence_and_the_others_go_on(
    replay: Replay, tmp_path: Path, results: Path
) -> None:
    with scripted(in_turn(completion(0.5))) as gone:
        pass
    with scripted(in_turn(completion(0.5))) as server:
        judges = {
            "here": {"base_url": server.url, "model": "m", "retries": 0},
            "gone": {"base_url": gone.url, "model": "m", "retries": 0},
            "keyless": {"base_url": server.url, "model": "m", "api_key_env": "NO_SUCH_KEY_OF_THE_TEST"},
        }
        path = tmp_path / "judges.yaml"
        path.write_text(json.dumps({"version": 1, "judges": judges}))
        done = replay("judge", results, "--judges", path, "--protocol", "m3", "--json")
        assert len(server.requests) == 3
    assert done.returncode == 0, done.stderr
    (model,) = json.loads(done.stdout)["models"]
    assert (model["judgements"], model["missing"]) == (3, 6)
    assert done.stderr.count("judge gone is not asked any more") == 1
    assert done.stderr.count("judge keyless is not asked any more") == 1


def test_where_no_judge_replies_the_exit_code_says_so(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    with scripted(in_turn(Reply(status=500, error={"message": "oops"}))) as server:
        judges = judges_file("a", url=server.url)
        done = replay("judge", results, "--judges", judges, "--protocol", "m3")
    assert done.returncode == 4
    assert "no judge gave a reply" in done.stderr


def test_limits_leave_the_rest_for_the_next_time(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    with scripted(in_turn(completion(0.5))) as server:
        judges = judges_file("a", url=server.url)
        done = replay("judge", results, "--judges", judges, "--protocol", "m3", "--max-calls", "2", "--json")
        assert len(server.requests) == 2
        assert "the 2 requests of --max-calls are used up" in done.stderr
        (model,) = json.loads(done.stdout)["models"]
        assert (model["judgements"], model["missing"]) == (2, 1)
        replay("judge", results, "--judges", judges, "--protocol", "m3")
        assert len(server.requests) == 3


def test_secrets_are_taken_out_before_anything_is_sent(
    replay: Replay, judges_file: Callable[..., Path], tmp_path: Path
) -> None:
    secret, token = "hunter2-of-the-test", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    path = tmp_path / "leaky_test_mcp_fuzzy.json"
    path.write_text(json.dumps([record("one", [[("shop/login", {"as": secret}, f"welcome {token}")]])]))
    with scripted(in_turn(completion(0.5))) as server:
        judges = judges_file("a", url=server.url, api_key_env="JUDGE_API_KEY")
        done = replay("judge", path, "--judges", judges, "--protocol", "m3", JUDGE_API_KEY=secret)
        assert done.returncode == 0, done.stderr
        sent = json.dumps(server.requests)
        assert server.keys == [f"Bearer {secret}"]
    assert secret not in sent
    assert token not in sent
    assert secret.encode() not in (tmp_path / "replay-run.db").read_bytes()


def test_m3_scores_are_written_as_align_reads_them(
    replay: Replay, judges_file: Callable[..., Path], results: Path, tmp_path: Path
) -> None:
    def script(request: dict[str, Any]) -> Reply:
        pairs = '"scores": [[' in request["messages"][1]["content"]
        return Reply('{"scores": [[0.8]]}') if pairs else completion(0.5)

    with scripted(script) as server:
        judges = judges_file("a", url=server.url)
        arguments = ("--judges", judges, "--protocol", "m3", "--reference", results, "-o", tmp_path / "scores.json")
        done = replay("judge", results, *arguments)
        assert done.returncode == 0, done.stderr
    scores = {"completion_rate": 0.5, "information_grounding_rate": 0.8}
    assert json.loads((tmp_path / "scores.json").read_text()) == {
        "tiny": {"one": scores, "two": scores, "three": scores}
    }
    assert "1 judge: no score is dropped" in done.stdout
    aligned = replay("align", results, "--reference", results, "--judge", tmp_path / "scores.json", "--json")
    assert json.loads(aligned.stdout)["models"][0]["judge"] == pytest.approx(scores)


def test_mcp_benchs_overall_counts_the_rates_of_the_runs_verdicts(
    replay: Replay, judges_file: Callable[..., Path], results: Path
) -> None:
    dimensions = ("task_fulfillment", "grounding", "tool_appropriateness", "parameter_accuracy")
    six = dict.fromkeys((*dimensions, "dependency_awareness", "parallelism_and_efficiency"), 6)
    assert replay("classify", results, "--offline").returncode == 0
    with scripted(in_turn(Reply(json.dumps(six)))) as server:
        done = replay("judge", "--judges", judges_file("a", url=server.url), "--protocol", "mcpbench", "--json")
        elsewhere = results.parent / "elsewhere"
        elsewhere.mkdir()
        words = ("../replay-run.db", "--judges", "../judges.yaml", "--protocol", "mcpbench", "--json")
        again = replay("judge", *words, cwd=elsewhere)
        assert again.stdout == done.stdout
        assert len(server.requests) == 15
    (model,) = json.loads(done.stdout)["models"]
    means = {measure["name"]: measure["mean"] for measure in model["measures"]}
    assert means["overall"] == pytest.approx((1 + 0.6 + 0.6 + 0.6) / 4)


def test_a_run_that_is_killed_asks_nothing_twice_that_was_answered(
    judges_file: Callable[..., Path], results: Path, tmp_path: Path, replay: Replay
) -> None:
    asked, reached, hold = 0, threading.Event(), threading.Event()

    def script(request: dict[str, Any]) -> Reply:
        nonlocal asked
        asked += 1
        if asked == 3:
            reached.set()
            return Reply(hold=hold)
        return completion(0.5)

    with scripted(script) as server:
        judges = judges_file("a", url=server.url)
        words = ["judge", str(results), "--judges", str(judges), "--protocol", "m3", "--jobs", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "replay", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert reached.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        hold.set()
        done = replay(*words)
        assert done.returncode == 0, done.stderr
        assert asked == 4
    texts = [request["messages"][1]["content"] for request in server.requests]
    assert texts[2] == texts[3]
    assert len(set(texts)) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("judges: [", "is not YAML"),
        ("version: 1\njudges: {}", "judges"),
        ("version: 1\njudges: {a: {base_url: ftp://x, model: m}}", "must begin with http"),
        ("version: 1\njudges: {a: {base_url: http://x, model: m, key: k}}", "judges.a.key"),
    ],
)
def test_a_mistake_in_the_judges_file_is_one_line(
    replay: Replay, results: Path, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "judges.yaml").write_text(text)
    done = replay("judge", results, "--judges", "judges.yaml", "--protocol", "m3")
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
