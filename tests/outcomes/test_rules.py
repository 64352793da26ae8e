from __future__ import annotations

import pytest

from replay.outcomes import answer_rules, judge_answer
from replay.records import Call, Outcome, SchemaViolation, Tool, ToolResult, TransportFault

RULES = answer_rules()

VIOLATIONS = {
    "answer.explained-by-schema": SchemaViolation(
        pointer="/entities", keyword="type", message="'x' is not of type 'array'"
    ),
    "answer.nothing-in-place": SchemaViolation(pointer="", keyword="required", message="'b' is a required property"),
}
"""Rules that need to know how the arguments break the schema."""


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_example_of_a_rule_is_decided_by_that_rule(rule):
    example = rule.example
    call = Call(position="s1c1", name=f"srv/{example.tool}", tool=example.tool, arguments=dict(example.arguments))
    answer = example.answer
    if not isinstance(answer, TransportFault):
        answer = ToolResult(content=({"type": "text", "text": answer},), is_error=example.flagged)
    violations = (VIOLATIONS[rule.id],) if rule.id in VIOLATIONS else ()

    tool = Tool(name=example.tool, output_schema=example.output_schema) if example.output_schema else None

    judged = judge_answer(call, answer, evidence="replay", tool=tool, violations=violations)

    assert judged.rule == rule.id
    assert judged.outcome is rule.outcome
    assert judged.reason == rule.reason


def test_every_rule_has_an_id_of_its_own_and_one_sentence():
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.sentence.endswith(".") for rule in RULES)


def test_an_inconclusive_rule_gives_its_reason_and_no_other_rule_has_one():
    assert all((rule.outcome is Outcome.INCONCLUSIVE) == (rule.reason is not None) for rule in RULES)
