"""More wordings of the same kinds of envelopes, written when the code was done."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer

CALL = Call(position="s1c1", name="srv/get_item", tool="get_item", arguments={"id": "7"})


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("**Tool error:** item 7 not found", "not_found"),
        ("【工具错误】 参数无效", "invalid_arguments"),
        ("[MCP Server Exception] connection refused", "inconclusive"),
        ("<tool_error><message>no such item</message></tool_error>", "not_found"),
        ("[call_tool failed] Unknown tool: foo", "unknown_tool"),
        ("#### Execution Failed\nitem 7 not found", "not_found"),
        ("ToolError: id is required", "invalid_arguments"),
        ("[shop.find error] quota exceeded", "inconclusive"),
        ("ToolResult(content=[TextContent(type='text', text='item 7 not found')], is_error=True)", "not_found"),
        ('```json\n{"error": "no such item", "status": 404}\n```', "not_found"),
        ("[mcp_call for 'shop/find'] Output: Error: item 7 not found", "not_found"),
        ("<error_message>item 7 not found</error_message>", "not_found"),
        ("Function call exception: item 7 not found", "not_found"),
        ("Error in tool 'find': item 7 not found", "not_found"),
    ],
)
def test_other_wordings_of_the_same_envelopes_are_opened(text, outcome):
    judged = judge_answer(CALL, TextAnswer(text=text), evidence="recorded", listed=False)
    assert judged.outcome == outcome
    assert judged.layers


@pytest.mark.parametrize("text", ['{"status": "ok", "failed": 3}', "Errors: none", "[failed tests: 3] done in 2s"])
def test_other_content_that_speaks_of_errors_stays_content(text):
    assert judge_answer(CALL, TextAnswer(text=text), evidence="recorded", listed=False).outcome == "success"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Command get_item returned: The lamp is red, it is not for sale on Mondays and costs 12 EUR.", "success"),
        ("Command get_item returned: Error: connection refused", "inconclusive"),
        (
            "MORE_STEPS: meta=None content=[TextContent(type='text', text='{\"row\": 1, \"of\": 2}')] isError=False",
            "success",
        ),
        (
            "MORE_STEPS: meta=None content=[TextContent(type='text', text='Failed to reach the host')] isError=False",
            "inconclusive",
        ),
    ],
)
def test_what_a_harness_says_before_a_result_is_its_label(text, outcome):
    call = Call(position="s1c1", name="get_item", tool="get_item", arguments={"id": "7"})
    assert judge_answer(call, TextAnswer(text=text), evidence="recorded").outcome == outcome
