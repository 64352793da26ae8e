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
