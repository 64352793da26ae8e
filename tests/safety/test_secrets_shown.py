"""Tokens in a user's own results files are not printed by the verbs that read them without a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789"
RESULTS = "gpt_test_mcp_fuzzy.json"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    call = {"name": f"s/{TOKEN}", "arguments": {"header": f"Bearer {TOKEN}", "password": "hunter2hunter2", "k": KEY}}
    steps = [{"step": 1, "calls": [call]}, {"step": 2, "calls": [{**call, "result": f"key {TOKEN} {KEY}"}]}]
    path = tmp_path / RESULTS
    path.write_text(
        json.dumps([{"id": f"t-{TOKEN}", "type": TOKEN, "question": TOKEN, "steps": steps, "final_reply": TOKEN}] * 2)
    )
    return path


@pytest.mark.parametrize(
    "verb",
    [
        ["show"], ["show", "--json"], ["show", "--dot"], ["show", "--mermaid"],
        ["convert", "-o", "dags"],
        ["align", "--reference", RESULTS], ["align", "--reference", RESULTS, "--json"],
        ["align", "--reference", RESULTS, "--csv"],
        ["align", "--reference", RESULTS, "--explain", f"t-{TOKEN}"],
    ],
    ids=lambda verb: " ".join(verb[:1] + [word for word in verb[1:] if word.startswith("-")]),
)  # fmt: skip
def test_no_token_of_a_results_file_is_printed(
    replay: Callable[..., subprocess.CompletedProcess[str]], results: Path, verb: list[str]
) -> None:
    done = replay(verb[0], results, *verb[1:])
    assert done.returncode == 0, done.stderr
    printed = done.stdout + done.stderr
    assert TOKEN[:12] not in printed
    assert "hunter2hunter2" not in printed
    assert "MIIEvQ" not in printed
    if "--json" in verb:
        json.loads(done.stdout)
