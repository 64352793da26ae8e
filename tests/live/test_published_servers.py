"""Real published servers, real published runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Replay = Callable[..., subprocess.CompletedProcess[str]]
pytestmark = [pytest.mark.live, pytest.mark.slow]


def calls_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    calls: list[dict[str, Any]] = json.loads(done.stdout)["calls"]
    return calls


def test_at_least_56_of_57_labelled_calls_get_a_right_outcome_and_no_failure_passes_for_a_success(
    replay: Replay, shared_data: Path, labelled_fleet: Path
) -> None:
    labelled = shared_data / "labelled"
    labels = json.loads((labelled / "labels.json").read_text())
    results = sorted((labelled / "results").glob("*.json"))
    calls = calls_of(replay("classify", *results, "--servers", labelled_fleet, "--json"))
    accepted = [outcomes for name in labels for outcomes in labels[name]]
    by_name = sorted(calls, key=lambda call: list(labels).index(call["trajectory"]))
    assert len(by_name) == len(accepted) == 57
    wrong = [
        (call["trajectory"], call["call"], call["outcome"], right)
        for call, right in zip(by_name, accepted, strict=True)
        if call["outcome"] not in right
    ]
    assert len(wrong) <= 1, wrong
    assert not [one for one in wrong if one[2] == "success"], wrong


def test_the_published_runs_replay_as_they_were_recorded_or_say_why_not(
    replay: Replay, shared_data: Path, toolathlon_fleet: Path
) -> None:
    results = sorted((shared_data / "toolathlon" / "results").glob("*.json"))
    calls = calls_of(
        replay("classify", *results, "--names", "{model}_{task}.json", "--servers", toolathlon_fleet, "--json")
    )
    assert len(calls) == 210
    outside = [call for call in calls if call["tool"].startswith(("local-", "pdf-tools-"))]
    reasons = {(call["tool"].startswith("local-"), call["outcome"], call["reason"]) for call in outside}
    assert reasons == {(True, "inconclusive", "local-tool"), (False, "inconclusive", "not-in-fleet")}
    inside = [call for call in calls if call not in outside]
    assert all(call["replayed"] for call in inside)
    differing = [call for call in inside if call["replayed"] != call["recorded"]]
    assert all(call["divergence"] for call in differing)
    assert all(call["gap"] for call in differing if call["divergence"] == "state-gap")
    untainted = [call for call in inside if call["divergence"] != "state-gap"]
    agreeing = [call for call in untainted if call["replayed"] == call["recorded"]]
    assert len(agreeing) >= 0.99 * len(untainted)
    read_after_the_harness_wrote = [
        call for call in inside if call["trajectory"] == "privacy-desensitization" and call["recorded"] == "success"
    ]
    assert {call["outcome"] for call in read_after_the_harness_wrote} == {"success"}
