"""Errors that are nobody's in particular, and calls that were never made."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult


def _judge(text, tool="get_item", flagged=True, **arguments):
    call = Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments or {"id": "7"})
    answer = ToolResult(content=({"type": "text", "text": text},), is_error=True) if flagged else TextAnswer(text=text)
    return judge_answer(call, answer, evidence="recorded", listed=False)


@pytest.mark.parametrize(
    "text",
    [
        "Something went wrong",
        "Use list_items for several items at once",
        "An unexpected error occurred. Please try again later.",
        "Error: Failed to execute the tool",
        "Failed to get item",
        "[Tool error]",
        "Operation failed",
        "An error occurred while processing your request",
    ],
)
def test_an_error_that_says_nothing_of_its_cause_is_unexplained(text):
    judged = _judge(text)
    assert (judged.outcome, judged.reason) == ("inconclusive", "unexplained"), judged.rule


@pytest.mark.parametrize(
    "text",
    [
        "Booking failed: the rooms are taken",
        "item 7 has been archived by its owner",
        "KeyError: '7'",
    ],
)
def test_an_error_that_gives_a_cause_is_about_the_call(text):
    judged = _judge(text)
    assert judged.outcome in ("invalid_arguments", "not_found")


@pytest.mark.parametrize(
    "text",
    [
        "The user denied this operation",
        "The agent requested permissions to use get_item, but you haven't granted it yet.",
        "Permission to run this command has not been granted.",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "This action was rejected by the user",
        "Tool call declined by the operator.",
        "Approval for this edit was refused",
        "This tool requires the user's approval",
        "<tool_use_error>Your administrator has blocked this tool</tool_use_error>",
    ],
)
def test_a_call_that_nobody_permitted_is_not_charged_to_the_model(text):
    judged = _judge(text)
    assert (judged.outcome, judged.reason) == ("inconclusive", "unauthorized"), judged.rule


@pytest.mark.parametrize(
    "text",
    [
        "Sibling tool call errored",
        "The user interrupted the request",
        "Cancelled: a parallel tool call failed",
        "Tool execution was cancelled",
        "Skipped because an earlier tool call failed",
        "Request interrupted by user",
        "Aborted by the user.",
    ],
)
def test_a_call_that_was_cancelled_is_not_charged_to_the_model(text):
    judged = _judge(text)
    assert (judged.outcome, judged.reason) == ("inconclusive", "interrupted"), judged.rule


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Order 7 was cancelled by the customer and cannot be changed", "invalid_arguments"),
        ("Invalid permission level: the user must be an editor", "invalid_arguments"),
        ("No cancelled orders found", "not_found"),
    ],
)
def test_a_failure_that_only_shares_their_words_is_judged_by_what_it_says(text, outcome):
    assert _judge(text).outcome == outcome


@pytest.mark.parametrize(
    "text", ["The user cancelled the meeting on Monday.", "Your request was approved by the owner."]
)
def test_an_answer_that_is_no_error_may_talk_of_cancelling(text):
    assert _judge(text, flagged=False).outcome == "success"
