"""Answers of published servers, and of servers as one knows them, with what each means by construction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from replay.outcomes import judge_answer
from replay.outcomes.input_schema import schema_violations
from replay.records import Answer, Call, Outcome, TextAnswer, Tool, ToolResult, texts_of

ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
CASES = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text("utf-8").splitlines()]


def _call(case: dict[str, Any]) -> Call:
    name = f"{case['server']}/{case['tool']}"
    return Call(position="s1c1", name=name, server=case["server"], tool=case["tool"], arguments=case["arguments"])


def _tool(case: dict[str, Any]) -> Tool | None:
    described = case.get("described")
    return Tool(name=case["tool"], **described) if described is not None else None


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case['server']}-{case['tool']}" for n, case in enumerate(CASES, 1)])
def test_an_answer_gets_an_outcome_that_is_right_by_construction(case):
    tool = _tool(case)
    violations = schema_violations(tool, case["arguments"]) if tool else ()

    judged = judge_answer(
        _call(case), ANSWER.validate_python(case["answer"]), evidence="replay", tool=tool, violations=violations
    )

    assert judged.outcome in case["accepted"], f"{judged.rule}: {judged.message}"


def test_the_corpus_holds_every_kind_of_outcome_many_times():
    for outcome in set(Outcome) - {Outcome.ILLEGAL_FORMAT}:
        assert sum(case["accepted"] == [outcome] for case in CASES) >= 10, outcome


def test_a_recording_that_lost_the_error_flag_is_judged_like_the_answer_it_was_made_from():
    same = total = 0
    for case in CASES:
        answer = ANSWER.validate_python(case["answer"])
        if not isinstance(answer, ToolResult) or not texts_of(answer):
            continue
        flagless = TextAnswer(text=json.dumps(list(answer.content)))
        live = judge_answer(_call(case), answer, evidence="replay")
        recorded = judge_answer(_call(case), flagless, evidence="recorded")
        total += 1
        same += live.outcome == recorded.outcome
    assert same / total >= 0.97
