"""Failures that are none of the model's: the server's own output, and what a replay itself refuses."""

from __future__ import annotations

import pytest

from replay.interpreter.session.json_rpc import REFUSAL
from replay.outcomes import judge_answer
from replay.records import Call, RpcError, TextAnswer, ToolResult


def _call(tool="get_item", **arguments):
    return Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments)


def _judge(answer, call=None):
    return judge_answer(call or _call(), answer, evidence="replay")


def _result(text, error=True):
    return ToolResult(content=({"type": "text", "text": text},), is_error=error)


@pytest.mark.parametrize(
    "text",
    [
        'Invalid tools/call result: [{"code": "invalid_union", "path": ["content", 0], "message": "Invalid input"}]',
        'Invalid resources/read result: [{"code": "invalid_type", "path": ["contents"], "message": "Required"}]',
        "Output validation error: 5 is not of type 'string'",
        "Structured content does not match the tool's output schema: data/n must be string",
        "Invalid structured content for tool get_item: [{}]",
    ],
)
def test_output_that_breaks_the_servers_own_schema_is_the_servers_fault(text):
    call = _call("read_media_file", path="/data/a.txt")
    for answer in (
        _result(f"MCP error -32602: {text}"),
        TextAnswer(text=f"MCP error -32602: {text}"),
        RpcError(code=-32602, message=text),
    ):
        judged = _judge(answer, call)
        assert (judged.rule, judged.reason) == ("answer.own-output", "server-fault")


@pytest.mark.parametrize(
    "text",
    [
        *(REFUSAL.format(method=method) for method in ("sampling/createMessage", "elicitation/create", "roots/list")),
        "MCP error -32601: " + REFUSAL.format(method="elicitation/create"),
        "Client does not support sampling",
        "Client does not support sampling (required for sampling/createMessage)",
        "the client doesn't support form elicitation",
        "Client does not support listing roots (required for roots/list)",
        "Method not found: sampling/createMessage",
        "MCP error -32601: Method not found: elicitation/create",
        "elicitation not supported",
        "Sampling not supported",
        "List roots not supported",
        "Sampling is not supported by this client",
    ],
)
def test_what_a_client_would_have_had_to_do_is_not_held_against_the_call(text):
    for answer in (
        _result(text),
        _result(text, error=False),
        _result(f"Error executing tool get_item: {text}"),
        TextAnswer(text=f"Error: {text}"),
        RpcError(code=-32601, message=text),
    ):
        judged = _judge(answer)
        assert (judged.outcome, judged.rule, judged.reason) == ("inconclusive", "answer.needs-a-client", "withheld")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Dataset t does not support sampling", "invalid_arguments"),
        ("Sampling not supported for column b", "invalid_arguments"),
        ("The host works without square roots", "inconclusive"),
        ("The session has no roots", "invalid_arguments"),
        ("Method not found: get_item", "unknown_tool"),
        ("Client Ann does not exist", "not_found"),
    ],
)
def test_a_failure_that_only_shares_a_word_with_a_clients_refusal_is_judged_as_ever(text, outcome):
    judged = _judge(_result(f"Error: {text}"))
    assert (judged.outcome, judged.rule == "answer.needs-a-client") == (outcome, False)


@pytest.mark.parametrize(
    "text",
    [
        "repository acme/shop is not in GITHUB_ALLOWED_REPOS",
        "Access to host a.example is not allowed by ALLOWED_HOSTS",
        "NOTION_TOKEN not found in environment",
        "MAPS_API_KEY is missing from the server's environment",
        "ModuleNotFoundError: No module named 'pandas'",
        "page.evaluate: Execution context was destroyed, most likely because of a navigation",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "Error: {}", "Error executing tool get_item: {}"])
def test_how_a_server_is_set_up_and_what_happens_in_it_is_not_the_models(text, frame):
    for answer in (_result(frame.format(text)), RpcError(code=-32603, message=text)):
        judged = _judge(answer, _call(repo="acme/shop", host="a.example"))
        assert (judged.outcome, judged.reason is None) == ("inconclusive", False)


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("Error fetching data: 'NoneType' object has no attribute 'get'", "inconclusive", "server-fault"),
        ("Error fetching user: invalid id", "invalid_arguments", None),
        ("Failed to fetch https://a.example/b", "inconclusive", "network"),
        ("Could not fetch the resource.", "inconclusive", "network"),
    ],
)
def test_what_was_fetched_in_vain_is_the_networks_only_where_nothing_else_is_told(text, outcome, reason):
    judged = _judge(_result(text))
    assert (judged.outcome, judged.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"query": "lamp"}, "Error: fts5: missing row 12 from content table 'main'.'goods'"),
        ({"query": "lamp"}, "Error: missing chunk number 0 for toast value 88 in pg_toast_7"),
        ({"query": "lamp", "filter": "src/**/*.py"}, "Error: lookup failed: Not found: /srv/shop/.index/data/a1.bin"),
    ],
)
def test_what_is_broken_or_missing_in_the_servers_own_store_is_the_servers_fault(arguments, text):
    assert _judge(TextAnswer(text=text), _call("search", **arguments)).outcome == "inconclusive"


def test_a_path_of_the_call_is_looked_for_also_below_the_servers_own_folders():
    call = _call("open_sheet", path="goods/lamp.xlsx")
    assert _judge(_result("Not found: /srv/shop/files/goods/lamp.xlsx"), call).outcome == "not_found"


@pytest.mark.parametrize("tool", ["Write", "get_item", "send_message"])
def test_a_user_who_does_not_want_a_call_is_told_of_in_any_length_and_of_any_tool(tool):
    said = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected." + " Wait for the user." * 40
    )
    assert _judge(TextAnswer(text=said), _call(tool, content="a b c")).rule == "harness.not-permitted"


def test_who_cancels_a_thing_for_a_user_has_done_it():
    said = TextAnswer(text="Request cancelled by the user.")
    assert _judge(said, _call("cancel_request", id="r7")).outcome == "success"


def test_a_fetcher_that_complains_of_each_of_its_ways_brings_no_page():
    said = "Browser not available and plain request failed.\n\nhttps://a.example/x\n⚠️ Fetch failed: no way left"
    assert _judge(TextAnswer(text=said), _call("fetch_url", url="https://a.example/x")).outcome != "success"


@pytest.mark.parametrize(
    "text",
    [
        "'Connection' object has no attribute 'rows'",
        "too many values to unpack (expected 2)",
        "cannot access local variable 'rows' where it is not associated with a value",
        "Server error '502 Bad Gateway' for url 'https://a.example/x'\nFor more information check: https://b.example",
        "Connection error. Is the gateway running at http://localhost:9?",
    ],
)
def test_an_exceptions_own_words_are_no_answer_whatever_the_tool_hands_out(text):
    for tool in ("web.search", "ask_model", "get_item"):
        assert _judge(TextAnswer(text=text), _call(tool, query="lamps")).outcome == "inconclusive"


def test_a_forbidden_word_is_a_refusal_of_the_call_and_not_of_its_credentials():
    forbidden = _judge(_result("Forbidden keyword detected: DROP"), _call("run_query", query="DROP TABLE a"))
    assert (forbidden.outcome, _judge(_result("Forbidden: no token")).outcome) == ("invalid_arguments", "inconclusive")


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Error calling tool 'start_lot': 地块不存在", "not_found"),
        ("Error calling tool 'start_lot': лот не найден", "not_found"),
        ("Error calling tool 'start_lot':", "inconclusive"),
        ("Tool call 'start_lot' was cancelled.", "inconclusive"),
        ("MCP error 0: No downloads left", "inconclusive"),
    ],
)
def test_a_cause_is_read_in_any_script(text, outcome):
    assert _judge(_result(text), _call("start_lot", lot="7")).outcome == outcome


def test_a_cause_is_not_read_in_what_is_quoted_of_the_call():
    call = _call("run_command", command='sleep 9 && echo "lot not found yet"')
    blocked = _result('Blocked: sleep 9 then echo "lot not found yet". Run it in the background.')
    assert _judge(blocked, call).outcome not in ("success", "not_found")


def test_a_sandbox_that_does_not_start_is_the_environments():
    said = "exec_command failed for `ls`: Sandbox(Denied { stderr: bwrap: loopback: Failed: Operation not permitted })"
    assert _judge(TextAnswer(text=said), _call("exec_command", cmd="ls")).outcome == "inconclusive"
