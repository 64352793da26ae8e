"""The envelopes that answers come in: the same content gets the same verdict, whatever it is wrapped in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.outcomes import judge_answer
from replay.outcomes.envelopes import MAX_LAYERS, open_answer
from replay.records import Call, Outcome, RuleSpec, TextAnswer, ToolResult


def _call(tool="get_item", **arguments):
    return Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments or {"id": "7"})


def _judge(answer, call=None):
    answer = TextAnswer(text=answer) if isinstance(answer, str) else answer
    return judge_answer(call or _call(), answer, evidence="recorded", listed=False)


def _result(text, flag=False):
    return ToolResult(content=({"type": "text", "text": text},), is_error=flag)


def _as_json(text, flag):
    return json.dumps(
        {"_meta": None, "content": [{"type": "text", "text": text, "annotations": None}], "isError": flag}
    )


def _as_flag_first(text, flag):
    return json.dumps(
        {"isError": flag, "content": [{"type": "text", "text": text}], "structuredContent": None}, indent=2
    )


def _as_pydantic(text, flag):
    block = f"TextContent(type='text', text={text!r}, annotations=None, meta=None)"
    return f"meta=None content=[{block}] structuredContent=None isError={flag}"


def _as_object(text, flag):
    block = f"TextContent(type='text', text={text!r}, annotations=None)"
    return f"CallToolResult(meta=None, content=[{block}], isError={flag})"


def _as_dataclass(text, flag):
    return f"ToolResult(text={text!r}, is_error={flag})"


def _as_dict(text, flag):
    return repr({"content": [{"type": "text", "text": text}], "isError": flag})


def _as_tool_result(text, flag):
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": text}], "is_error": flag}
    return json.dumps(block)


def _as_rpc(text, flag):
    result = {"content": [{"type": "text", "text": text}], "isError": flag}
    return json.dumps({"jsonrpc": "2.0", "id": 3, "result": result})


WITH_A_FLAG = [
    _as_json,
    _as_flag_first,
    _as_pydantic,
    _as_object,
    _as_dataclass,
    _as_dict,
    _as_tool_result,
    _as_rpc,
]
WITHOUT_A_FLAG = [
    json.dumps,
    lambda text: json.dumps([{"type": "text", "text": text}]),
    lambda text: json.dumps({"type": "text", "text": text, "annotations": None}),
    lambda text: json.dumps([{"type": "output_text", "text": text}]),
    lambda text: f"[TextContent(type='text', text={text!r}, annotations=None)]",
    lambda text: f"### Result\n{text}",
    lambda text: f"## Tool output\n\n{text}",
    lambda text: f"[use_mcp_tool for 'x'] Result:\n{text}",
    lambda text: f"Result: {text}",
    lambda text: f"Tool result: {text}",
    lambda text: f"<result>\n{text}\n</result>",
    lambda text: f"<tool_output>{text}</tool_output>",
]
ERROR_LABELS = [
    "[Tool error] ",
    "[ERROR] ",
    "[tool execution failed] ",
    "[MCP failure]: ",
    "(error) ",
    "Tool error: ",
    "Tool execution failed: ",
    "Tool call failure: ",
    "MCP tool 'get_item' failed: ",
    "### Error\n",
    "# Tool failed\n\n",
    "=== Error ===\n",
    "<error>",
    "<tool_use_error>",
]
CONTENTS = [
    ("Item 7: a red lamp, 12 EUR", False),
    ('{"id": 7, "name": "lamp"}', False),
    ("[]", False),
    ("Item 7 does not exist", False),
    ('{"error": "no such item", "status": 404}', False),
    ('{"success": false, "message": "invalid id"}', False),
    ("Error: 429 Too Many Requests", False),
    ("no item 7 on file: not found", True),
    ("Input validation error: 'id' is a required property", True),
    ("503 Service Unavailable", True),
    ('it\'s "quoted", \\ back and\nforth: must be a number', True),
]

_wrapper = st.one_of(
    st.tuples(st.sampled_from(WITH_A_FLAG), st.booleans()).map(lambda made: lambda text: made[0](text, made[1])),
    st.sampled_from(WITHOUT_A_FLAG),
    st.sampled_from([label for label in ERROR_LABELS if label != "[ERROR] "]).map(
        lambda label: lambda text: label + text
    ),
)


@given(
    st.sampled_from(CONTENTS),
    st.sampled_from(WITH_A_FLAG),
    st.lists(_wrapper, max_size=3),
    st.sampled_from([None, False, True]),
)
@settings(max_examples=400)
def test_the_same_content_gets_the_same_verdict_in_any_stack_of_envelopes(content, innermost, wrappers, outer_flag):
    text, flag = content
    plain = _judge(_result(text, flag))
    wrapped = innermost(text, flag)
    for wrap in wrappers:
        wrapped = wrap(wrapped)

    judged = _judge(wrapped if outer_flag is None else _result(wrapped, outer_flag))

    assert (judged.outcome, judged.rule, judged.reason) == (plain.outcome, plain.rule, plain.reason), wrapped
    assert judged.layers


@pytest.mark.parametrize("heading", ["### Error\n", "# Tool failed\n\n", "=== Error ===\n"])
@pytest.mark.parametrize("label", ["[Tool error] ", "[MCP failure]: "])
def test_labels_on_lines_of_their_own_under_a_round_bracket_are_no_log(heading, label):
    text = json.dumps({"error": "no such item", "status": 404})
    plain, judged = _judge(_result(text)), _judge(f"(error) {heading}{label}{_as_json(text, flag=False)}")
    assert (judged.outcome, judged.rule) == (plain.outcome, plain.rule)


@pytest.mark.parametrize("label", ERROR_LABELS)
@pytest.mark.parametrize(("text", "flag"), [content for content in CONTENTS if content[1]])
def test_a_label_of_an_error_counts_like_the_flag(label, text, flag):
    plain, judged = _judge(_result(text, flag)), _judge(label + text)
    assert (judged.outcome, judged.rule) == (plain.outcome, plain.rule)
    assert judged.layers[-1].flag is True


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("[Tool error] Invalid arguments", "invalid_arguments"),
        ("[Tool error] HTTP 404", "not_found"),
        ("[Tool error] MCP error -32602: Input validation error: 'id' is a required property", "invalid_arguments"),
        ("[Validation failed] id: expected a number", "invalid_arguments"),
        ("[Permission denied] no access token is configured", "inconclusive"),
        ("<tool_use_error>InputValidationError: missing required parameter `id`</tool_use_error>", "invalid_arguments"),
        ("<execution_failure>the item was not found</execution_failure>", "not_found"),
        ("### Error\nTimeoutError: page.click: Timeout 5000ms exceeded.", "inconclusive"),
        ("## Lookup Error\n\nFailed to look it up: 403 Forbidden", "inconclusive"),
        ("[use_mcp_tool for 'shop'] Result:\nError: item 7 not found", "not_found"),
        ("[browser_action for 'click'] Result:\nError executing tool click: no such element", "not_found"),
    ],
)
def test_a_label_is_known_by_its_place_and_by_its_saying_error(text, outcome):
    assert _judge(text).outcome == outcome


@pytest.mark.parametrize(
    "label", ["[Tool error]", "<error></error>", "### Error", "Tool execution failed:", "[failed]"]
)
def test_a_bare_label_of_an_error_is_no_success(label):
    judged = _judge(label)
    assert judged.outcome != "success"
    assert judged.layers[-1].flag is True


@pytest.mark.parametrize(
    "text",
    [
        "[ERROR] disk is full\n[INFO] retrying\n[ERROR] gave up",
        "[ERROR] 2024-05-01 10:00:00 the disk is full",
        "[error-handling] docs/errors.md\n\nHow this library reports errors.",
        "# Error handling\n\nErrors are values.\n\n## Exceptions\n\nThere are none.",
        "# The request failed\n\nA play.\n\n## First act\n\nA post office.",
        "<errors>\n  <error>a</error>\n</errors>\n<more/>",
        '["failed", "error"]',
        '"Errors" is a song',
        "Result: 42 of 50 passed",
    ],
)
def test_content_that_talks_of_errors_stays_content(text):
    assert _judge(text, _call("search_notes", query="errors")).outcome == "success"


@pytest.mark.parametrize(
    "text",
    [
        '{"content": [{"type": "text", "text": "disk full"}], "isError": true}\n',
        "[ERROR] cannot open /srv/other.db\n",
        "<error>\n  disk full\n</error>\n",
        "### Error\n\n- code 5\n- code 7\n\nSee the list.\n",
    ],
)
def test_a_file_that_reads_like_an_envelope_is_content(text):
    for answer in (_result(text), TextAnswer(text=text)):
        judged = _judge(answer, _call("read_text_file", path="/data/answers.json"))
        assert judged.outcome == "success"
        assert not judged.layers


def test_an_envelope_that_names_the_file_asked_for_is_a_report():
    report = _as_pydantic(_as_json("ENOENT: no such file or directory, open '/data/a.json'", True), False)
    assert _judge(report, _call("read_text_file", path="/data/a.json")).outcome == "not_found"


def test_the_verdict_keeps_every_layer_with_its_flag():
    answer = _result("[Tool error] " + _as_pydantic(_as_json("item 7 not found", True), False))
    layers = [(layer.kind, layer.flag, layer.label) for layer in _judge(answer).layers]
    assert layers == [
        ("result", False, None),
        ("label", True, "[Tool error]"),
        ("repr", False, None),
        ("result", True, None),
    ]


def test_an_answer_that_came_in_nothing_but_itself_has_no_layers():
    assert _judge(_result("Item 7: a lamp")).layers == ()
    assert _judge("Item 7: a lamp").layers == ()


def test_a_rule_of_the_user_is_held_against_the_opened_content():
    rule = RuleSpec(id="shop.sold-out", pattern=r'"sold" out', outcome=Outcome.NOT_FOUND)
    answer = TextAnswer(text=_as_json('"sold" out', False))
    assert judge_answer(_call(), answer, evidence="recorded", rules=(rule,)).rule == "shop.sold-out"


def test_a_sentence_that_begins_with_a_quotation_is_not_a_json_string():
    assert open_answer(TextAnswer(text='"Rosebud" was the sled')).pieces == ('"Rosebud" was the sled',)


def test_an_image_beside_a_wrapped_text_is_not_lost():
    inner = json.dumps({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "isError": False})
    opened = open_answer(TextAnswer(text=inner))
    assert opened.has_media
    assert _judge(inner).rule == "success.structured"


def test_a_result_that_holds_structured_content_alone_is_judged_by_it():
    body = {"content": [], "structuredContent": {"error": "no such item", "status": 404}, "isError": False}
    assert _judge(json.dumps(body)).outcome == "not_found"


@pytest.mark.parametrize(
    "text",
    [
        "meta=None content=[TextContent(type='text', text='Error: item 7 not found",
        "[TextContent(type='text', text='Error: item 7 not found\\",
        '{"_meta": null, "content": [{"type": "text", "text": "Error: item 7 not found',
        '{"_meta": null, "content": [{"type": "text", "text": "Error: item 7 not found", "anno',
        '{"content": [{"type": "text", "text": "item 7 not found\\u00',
    ],
)
def test_an_envelope_that_was_cut_off_is_opened_as_far_as_it_goes(text):
    assert _judge(text).outcome == "not_found"


def test_an_envelope_nested_ten_thousand_deep_is_judged_by_what_could_be_opened():
    nested = '{"isError": true, "content": [{"type": "text", "text": "item 7 not found"}], "_meta": %s}' % (
        '{"a": [' * 10_000 + "]}" * 10_000
    )
    assert _judge(nested).outcome == "not_found"
    assert _judge("[Tool error] " * 10_000 + "item 7 not found").outcome != "success"
    assert _judge("CallToolResult(content=[" * 10_000).outcome == "success"
    assert len(_judge("[Tool error] " * 10_000).layers) == MAX_LAYERS


@pytest.mark.parametrize(
    "opening", ['"', '{"type": "text", "text": "', "TextContent(type='text', text='", '[ToolResult(text="']
)
@pytest.mark.parametrize("filling", ['\\"', "\\'", "\\\\", "[", "<error>", "(a=", "x=", "\n### Error"])
def test_text_that_never_closes_is_read_to_its_end_and_no_further(opening, filling):
    assert _judge(opening + filling * 200_000).layers is not None


@pytest.mark.slow
def test_fifty_megabytes_of_escaped_quotes_are_judged():
    for opening in ('{"type": "text", "text": "', "TextContent(type='text', text='"):
        assert _judge(opening + '\\"' * 25_000_000).outcome is not None


def test_json_that_is_cut_off_is_data_also_where_escapes_of_a_terminal_are_taken_out_of_it():
    issue = {"title": "A PreToolUse hook blocked each edit", "body": "\x1b[31mconnection refused\x1b[0m " * 40}
    text = json.dumps([issue] * 40, ensure_ascii=False)
    call = Call(position="s1c1", name="list_issues", tool="list_issues", arguments={"repo": "a"})
    for answer in (text, text[:20_000]):
        assert judge_answer(call, TextAnswer(text=answer), evidence="recorded").outcome == "success"
