"""Servers that do one thing wrong: the run goes on, each call has its verdict, and the good server's is as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hostile.modes import http_modes, short_modes, stdio_modes
from tests.hostile.runner import GOOD, batches, classify, http_server, over_stdio, problems_of, run_cli

MAX_PEAK_KB = 400 * 1024


@pytest.mark.parametrize("modes", list(batches(short_modes())), ids=lambda modes: modes[0])
def test_one_hostile_server_never_ends_the_run(tmp_path: Path, modes: list[str]) -> None:
    run = classify(tmp_path, {mode: over_stdio(mode) for mode in modes})
    assert problems_of(run, modes) == []


def test_what_hostile_servers_left_in_a_run_file_does_not_poison_it(tmp_path: Path) -> None:
    modes = ["tool-name.lone-surrogate", "schema.deep-schema-450", "error-data.deep-list-300", "server-name.control"]
    assert problems_of(classify(tmp_path, {mode: over_stdio(mode) for mode in modes}), modes) == []
    assert problems_of(classify(tmp_path, {}), []) == []
    for verb in (["report", "--format", "json"], ["report", "--format", "html"], ["classify", "results.json"]):
        assert run_cli(*verb, cwd=tmp_path)[0] == 0


def test_arguments_that_are_nested_too_deeply_are_inconclusive(tmp_path: Path) -> None:
    nested: dict = {}
    for _ in range(300):
        nested = {"a": nested}
    run = classify(tmp_path, {}, arguments=nested)
    assert run.code == 0
    assert (run.verdicts[GOOD]["outcome"], run.verdicts[GOOD]["reason"]) == ("inconclusive", "beyond-limits")


@pytest.mark.parametrize(
    ("mode", "outcome", "reason"),
    [
        ("http-401", "inconclusive", "unauthorized"),
        ("http-403", "inconclusive", "unauthorized"),
        ("http-429", "inconclusive", "rate-limited"),
        ("http-503", "inconclusive", "server-fault"),
    ],
)
def test_the_status_of_an_http_answer_tells_why(tmp_path: Path, mode: str, outcome: str, reason: str) -> None:
    with http_server() as address:
        run = classify(tmp_path, {mode: {"url": f"{address}/{mode}"}})
    assert (run.verdicts[mode]["outcome"], run.verdicts[mode].get("reason")) == (outcome, reason)


@pytest.mark.parametrize("mode", ["answers-early", "answers-twice"])
def test_only_the_first_answer_to_a_request_that_was_sent_counts(tmp_path: Path, mode: str) -> None:
    run = classify(tmp_path, {mode: over_stdio(mode)})
    assert run.verdicts[mode]["outcome"] == "success"


@pytest.mark.parametrize("mode", ["never-lists", "half-a-list", "same-cursor", "next-cursor.number", "changes-list"])
def test_a_tool_is_not_unknown_where_the_list_was_not_read_to_its_end(tmp_path: Path, mode: str) -> None:
    run = classify(tmp_path, {mode: over_stdio(mode)}, tools=("work", "other"))
    assert (run.verdicts[mode]["outcome"], run.verdicts[mode]["rule"]) == ("inconclusive", "registry.list-incomplete")
    assert run.verdicts[GOOD]["outcome"] == "unknown_tool"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["http-endless-notification", "http-endless-event", "http-endless-body"])
def test_an_endless_body_costs_no_more_memory_than_the_limit(tmp_path: Path, mode: str) -> None:
    with http_server() as address:
        run = classify(tmp_path, {mode: {"url": f"{address}/{mode}"}})
    assert problems_of(run, [mode]) == []
    assert run.peak_kb < MAX_PEAK_KB


@pytest.mark.hostile
@pytest.mark.slow
@pytest.mark.parametrize("modes", list(batches(list(stdio_modes()))), ids=lambda modes: modes[0])
def test_no_mode_over_stdio_ends_the_run(tmp_path: Path, modes: list[str]) -> None:
    run = classify(tmp_path, {mode: over_stdio(mode) for mode in modes})
    assert problems_of(run, modes) == []
    assert run.peak_kb < MAX_PEAK_KB


@pytest.mark.hostile
@pytest.mark.slow
@pytest.mark.parametrize("way", ["json", "sse"])
@pytest.mark.parametrize("modes", list(batches(list(http_modes()))), ids=lambda modes: modes[0])
def test_no_mode_over_http_ends_the_run(tmp_path: Path, modes: list[str], way: str) -> None:
    with http_server() as address:
        prefix = address if way == "json" else f"{address}/sse"
        run = classify(tmp_path, {mode: {"url": f"{prefix}/{mode}"} for mode in modes})
    assert problems_of(run, modes) == []
    assert run.peak_kb < MAX_PEAK_KB


def test_a_rule_whose_pattern_cannot_be_used_is_refused(tmp_path: Path) -> None:
    for pattern in ("(", "(?=look)ahead"):
        rule = {"id": "x.y", "pattern": pattern, "outcome": "success"}
        fleet = {"version": 1, "servers": {"s": {**over_stdio("ordinary"), "rules": [rule]}}}
        (tmp_path / "servers.yaml").write_text(json.dumps(fleet))
        steps = [{"step": 1, "calls": [{"name": "s/work", "arguments": {}, "result": "ok"}]}]
        (tmp_path / "results.json").write_text(json.dumps([{"id": "a", "question": "?", "steps": steps}]))
        code, _, stderr, _ = run_cli("classify", "results.json", cwd=tmp_path)
        assert code == 2
        assert "pattern" in stderr
