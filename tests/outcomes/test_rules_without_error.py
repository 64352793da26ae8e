"""Rules that are asked only of failures."""

from __future__ import annotations

import pytest

from replay.outcomes.evidence import ParsedAnswer
from replay.outcomes.rules import answer_rules
from replay.records import Call, SchemaViolation, TextAnswer

_MISSING = SchemaViolation(pointer="", keyword="required", message="'b' is a required property")


@pytest.mark.parametrize("text", ["42", "", "[]", "The sum of 1 and undefined is NaN", '{"rows": [{"id": 7}]}'])
def test_no_rule_for_failures_matches_an_answer_without_one(text: str) -> None:
    call = Call(position="s1c1", name="calc/add", arguments={"sql": "select 1", "code": "1 => 2"})
    parsed = ParsedAnswer(call, TextAnswer(text=text), None, [_MISSING])

    assert parsed.error is None
    assert [rule.id for rule in answer_rules() if rule.kind != "content" and rule.matches(parsed)] == []
    assert any(rule.kind == "content" and rule.matches(parsed) for rule in answer_rules())
