"""Answers of published runs, judged from the recording alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Replay = Callable[..., subprocess.CompletedProcess[str]]


def test_at_least_96_percent_of_the_recorded_answers_get_an_accepted_outcome(replay: Replay, shared_data: Path) -> None:
    done = replay("classify", shared_data / "recorded" / "recorded.jsonl", "--offline", "--json")
    calls = json.loads(done.stdout)["calls"]
    labels = json.loads((shared_data / "recorded" / "labels.json").read_text())
    assert len(calls) == len(labels) == 263
    judged = [
        (call["trajectory"], call["recorded"] if str(call["tool"]).startswith("local-") else call["outcome"])
        for call in calls
    ]
    wrong = [(name, outcome, labels[name]) for name, outcome in judged if outcome not in labels[name]]
    assert len(wrong) <= 0.04 * len(labels), wrong
    failures_taken_for_success = [one for one in wrong if one[1] == "success"]
    assert len(failures_taken_for_success) <= 0.01 * len(labels), failures_taken_for_success


def test_the_published_reference_is_judged_without_a_crash(replay: Replay, shared_data: Path) -> None:
    done = replay("classify", shared_data / "m3bench" / "test_mcp_GT.json", "--offline", "--json")
    calls = json.loads(done.stdout)["calls"]
    assert len(calls) == 1355
    illegal = [(call["trajectory"], call["tool"]) for call in calls if call["outcome"] == "illegal_format"]
    assert illegal == [("00170000", "ppt/create_presentation")]
    assert "5 duplicate ids" in done.stderr


def test_an_offline_call_without_any_answer_has_a_reason_of_its_own(replay: Replay, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    calls = [{"name": "shop/find", "arguments": {"q": "lamp"}}]
    path.write_text(json.dumps([{"id": "1", "question": "?", "steps": [{"calls": calls}]}]))
    done = replay("classify", path, "--offline", "--json")
    call = json.loads(done.stdout)["calls"][0]
    assert (call["outcome"], call["reason"], call["rule"]) == ("inconclusive", "no-answer", "arguments.no-answer")
