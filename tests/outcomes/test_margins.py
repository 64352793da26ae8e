"""What a host, a writer or a program puts around a failure leaves it one, and around a success likewise."""

from __future__ import annotations

import json

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer

MARGINS = {
    "a note below": "{}\n\nNote: The user's next message may hold a correction. Pay attention to it.",
    "several": "{}\n\nTip: list them first.\n\nFor more information see https://a.example/help",
    "a line of the harness": "{}\n[attempt: 2]",
    "a stack": "{}\n    at run (/srv/app/index.js:10:5)\n    at async main (/srv/app/index.js:90:3)",
    "what is about to be done": "Asking the backend...\n{}",
    "a fence": "```text\n{}\n```",
    "a stamp": "[2026-03-04 10:22:31] {}",
    "a stamp with a level": "2026-03-04T10:22:31.120Z INFO {}",
    "an id below": "{}\n\nRequest ID: 7f3a9c21-1b2d-4c5e-8f90-abcdef123456",
    "a time below": "{}\n---\nElapsed: 0.42s",
    "a picture": "🔧 {}",
    "a bullet": "- {}",
    "a line below": "{}\n\n[Open it](https://lots.example/7)",
    "a level": "INFO: {}",
    "moments above": "Created At: 2026-05-25T09:53:25Z\nCompleted At: 2026-05-25T09:53:26Z\n{}",
    "the tool's name above": "[Tool: book_lot]\n{}",
    "the tool's name as a field": "tool: book_lot\nresult: {}",
    "a mark of the encoding": "\ufeff{}",
    "a line of the host above": "The following is the response of the tool:\n\n{}",
    "a fence below a line": "Here's the result:\n```json\n{}\n```",
    "a tag of text": "<pre>{}</pre>",
}
FAILURES = [
    ("No lot with id 7", "not_found"),
    ("Failed to book: the lot is locked by another session", None),
    ('{"status": 404, "message": "no such lot"}', "not_found"),
    ('{"error": "quantity must be positive"}', "invalid_arguments"),
    ("Missing required parameter: lot", "invalid_arguments"),
    ("Service unavailable: the backend did not answer", "inconclusive"),
]
SUCCESSES = [
    "Booked lot 7.",
    '{"lot": 7, "state": "free", "places": 4}',
    "Lot 7 is free: four places, two of them covered.",
]


def _outcome(text, tool="book_lot", **arguments):
    call = Call(position="s1c1", name=tool, tool=tool, arguments=arguments or {"lot": 7})
    return judge_answer(call, TextAnswer(text=text), evidence="recorded", listed=False).outcome


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize(("text", "outcome"), FAILURES)
def test_a_failure_is_one_with_any_margin(text: str, outcome: str | None, margin: str) -> None:
    judged = _outcome(MARGINS[margin].replace("{}", text))
    assert judged != "success"
    assert outcome in (None, judged)


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("text", SUCCESSES)
def test_a_success_is_one_with_any_margin(text: str, margin: str) -> None:
    assert _outcome(MARGINS[margin].replace("{}", text)) == "success"


@pytest.mark.parametrize("text", [text for text, _ in FAILURES])
def test_a_failure_is_one_as_the_only_text_of_a_list(text: str) -> None:
    assert _outcome(json.dumps([text])) == _outcome(text)


@pytest.mark.parametrize("key", ["result", "message", "data"])
@pytest.mark.parametrize("text", [text for text, _ in FAILURES])
def test_a_status_of_its_wrapper_does_not_make_a_failure_a_success(text: str, key: str) -> None:
    assert _outcome(json.dumps({"status": "success", key: text})) == _outcome(text)


def test_an_error_with_a_status_is_one_beside_what_the_call_asked_for() -> None:
    answer = {"resource": "lots", "limit": 5, "error": "HTTPError", "status_code": 403, "response_text": "no plan"}
    assert _outcome(json.dumps(answer), "search_lots", resource="lots") == "inconclusive"


def test_spaces_that_no_line_breaks_at_are_spaces() -> None:
    assert _outcome("No lot with id 7".replace(" ", "\u00a0")) == "not_found"


@pytest.mark.parametrize("mark", ["❌", "⛔"])
def test_a_picture_of_a_failure_is_none_of_the_margins(mark: str) -> None:
    assert _outcome(f"{mark} Lot 7 stays as it was.") != "success"


def test_a_log_is_no_answer_with_a_stamp() -> None:
    log = "2026-03-04 10:22:31 lot 7 not found\n2026-03-04 10:22:32 lot 7 found\n"
    assert _outcome(log, "read_log", path="lots.log") == "success"


def test_a_programs_status_is_read_where_its_output_is_wrapped_in_an_object() -> None:
    printed = "cat: a.txt: No such file or directory\n\nCommand completed with return code: 1"
    assert _outcome(json.dumps({"result": printed}), "run_command", command="cat a.txt") == "not_found"


def test_advice_alone_is_the_answer() -> None:
    assert _outcome("Try the lots by the river.\n\nSee also lot 9.", "advise", topic="lots") == "success"
