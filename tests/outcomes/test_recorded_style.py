"""Answers as harnesses record them: a text, often a content block as JSON, and no error flag. Each was written blind,
before the rules were looked at, after what the services and libraries that it names really say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.outcomes import judge_answer, judge_format
from replay.records import Call, TextAnswer

FILE = Path(__file__).with_name("recorded_answers.jsonl")
CASES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def _parameter(number: int, case: dict[str, Any]) -> Any:
    missed = pytest.mark.xfail(reason="known miss: a bare sentence, with no flag and no prefix")
    return pytest.param(case, id=f"{number}-{case['name']}", marks=[missed] if case.get("missed") else [])


@pytest.mark.parametrize("case", [_parameter(number, case) for number, case in enumerate(CASES, 1)])
def test_a_recorded_answer_gets_an_accepted_outcome(case):
    answer = TextAnswer(text=case["text"])
    unreadable: dict[str, Any] = {"unreadable": "arguments", "raw": "{"} if case["arguments"] is None else {}
    call = Call(position="s1c1", name=case["name"], arguments=case["arguments"], answer=answer, **unreadable)

    judged = judge_format(call) or judge_answer(call, answer, evidence="recorded")

    assert judged.outcome in case["accepted"], f"{judged.rule}: {judged.message}"
