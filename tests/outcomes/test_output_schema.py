"""An answer that is valid against the tool's outputSchema."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, Tool, ToolResult

PRICE = {
    "type": "object",
    "properties": {"price": {"type": "number"}, "note": {"type": "string"}},
    "required": ["price"],
}
WRAPPED = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}


def _judged(schema, structured, text="see there", *, flagged=False):
    call = Call(position="s1c1", name="get_price", tool="get_price", arguments={"item": "lamp"})
    answer = ToolResult(content=({"type": "text", "text": text},), structured=structured, is_error=flagged)
    return judge_answer(call, answer, evidence="replay", tool=Tool(name="get_price", output_schema=schema))


def test_an_answer_that_keeps_to_the_output_schema_is_a_success_for_certain():
    judged = _judged(PRICE, {"price": 12})
    assert (judged.outcome, judged.rule, judged.certainty) == ("success", "success.output-schema", "certain")


@pytest.mark.parametrize(
    ("schema", "structured"),
    [
        (PRICE, {"note": "sold out"}),
        (PRICE, None),
        ({"type": "object"}, {"anything": 1}),
        (WRAPPED, {"result": "nobody knows"}),
        (
            {"type": "object", "required": ["price"], "properties": {"price": {"pattern": "(a+)+$"}}},
            {"price": "a" * 99},
        ),
    ],
)
def test_a_schema_that_asks_for_nothing_or_is_broken_is_no_evidence(schema, structured):
    assert _judged(schema, structured).rule != "success.output-schema"


def test_a_flag_overrules_the_schema():
    assert _judged(PRICE, {"price": 12}, "Error: out of stock", flagged=True).outcome != "success"
