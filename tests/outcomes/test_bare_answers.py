"""Whole answers of a word and a number: each is judged with and without the server's error flag."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, RpcError, SchemaViolation, TextAnswer, Tool, ToolResult


def _judge(answer, tool="lookup_item", violations=(), **arguments):
    call = Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments or {"q": "x"})
    return judge_answer(call, answer, evidence="replay", violations=violations)


def _result(text, error=False):
    return ToolResult(content=({"type": "text", "text": text},), is_error=error)


@pytest.mark.parametrize(
    ("text", "outcome", "reason"),
    [
        ("Error 500", "inconclusive", "server-fault"),
        ("HTTP 500", "inconclusive", "server-fault"),
        ("HTTP/1.1 503", "inconclusive", "server-fault"),
        ("HTTP status 502.", "inconclusive", "server-fault"),
        ("Request failed with status code 500", "inconclusive", "server-fault"),
        ("Error 429", "inconclusive", "rate-limited"),
        ("HTTP 401", "inconclusive", "unauthorized"),
        ("Error 404", "not_found", None),
        ("HTTP 404", "not_found", None),
        ("HTTP error 400", "invalid_arguments", None),
        ("ERROR\ninvalid q", "invalid_arguments", None),
        ("ERROR\nitem x not found", "not_found", None),
        ('{"code":404,"data":null}', "not_found", None),
        ('{"code":500,"message":"","data":null}', "inconclusive", "server-fault"),
        ("MCP error -32603: Internal error", "inconclusive", "server-fault"),
        ("Internal error", "inconclusive", "server-fault"),
    ],
)
def test_a_bare_error_is_judged_by_its_number(text, outcome, reason):
    for answer in (_result(text), _result(text, error=True), TextAnswer(text=text)):
        judged = _judge(answer)
        assert (judged.outcome, judged.reason) == (outcome, reason), judged.rule


def test_an_internal_error_after_a_schema_violation_is_explained_by_it():
    violation = SchemaViolation(pointer="/n", keyword="type", message="'x' is not of type 'integer'")
    answer = RpcError(code=-32603, message="Internal error")
    assert _judge(answer, violations=(violation,)).outcome == "invalid_arguments"
    assert _judge(answer).reason == "server-fault"


@pytest.mark.parametrize(
    "text",
    [
        '{"code":200,"message":"not found","data":[]}',
        '{"code":0,"msg":"No items found","data":[]}',
        '{"success":true,"message":"nothing found","results":[]}',
    ],
)
def test_a_success_that_found_nothing_is_empty(text):
    judged = _judge(_result(text))
    assert (judged.outcome, judged.findings) == ("success", ("empty",))


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("read_text_file", {"path": "/d/a.log"}, "Error 500"),
        ("read_text_file", {"path": "/d/a.log"}, "ERROR\ndisk is full\n"),
        ("lookup_item", {"q": "x"}, "ERROR\nrow 3 skipped\nall is well"),
        ("lookup_item", {"q": "x"}, "HTTP 200"),
        ("lookup_item", {"q": "x"}, "Room 404"),
        ("lookup_item", {"q": "x"}, "404"),
        ("lookup_item", {"q": "x"}, '{"code":404,"data":{"name":"a"}}'),
        ("check_url", {"url": "http://a.example"}, '{"status":404}'),
        ("read_query", {"query": "select error from t"}, "error\\ninvalid q"),
        ("say", {"text": "Error 500"}, "Error 500"),
    ],
)
def test_a_number_in_an_answer_is_no_error_by_itself(tool, arguments, text):
    assert _judge(_result(text), tool, **arguments).outcome == "success"


def test_a_page_that_is_nothing_but_a_status_was_not_fetched():
    assert _judge(_result("HTTP 404"), "fetch", url="https://a.example/x").outcome == "not_found"


@pytest.mark.parametrize(
    ("tool", "text", "rule"),
    [
        ("close_loan", "Loan 7 closed: 0 g came back. Failures happen.", "success.says-so"),
        ("add_paragraph", "Paragraph added to a.docx", "success.says-so"),
        ("write_data", "Data written to Sheet1", "success.says-so"),
        ("kubectl_scale", "Scaled deployment web to 0 replicas", "success.says-so"),
        ("pick_colour", "The blue one", "success.answered"),
        ("add_paragraph", "Nothing was ever added to a.docx", "success.answered"),
    ],
)
def test_an_answer_that_says_the_tools_own_verb_as_done_says_how_it_went(tool, text, rule):
    call = Call(position="s1c1", name=tool, tool=tool, arguments={"n": 3})
    assert judge_answer(call, TextAnswer(text=text), evidence="recorded").rule == rule


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("There is no room 12; rooms are 0 to 9", "invalid_arguments"),
        ("Row 12 is not in our list (1 - 10)", "invalid_arguments"),
        ("There is no room 12; ask at the desk", "not_found"),
        ("Nobody called Ada works here", "not_found"),
        ("Nothing on this floor goes by the name of Ada", "not_found"),
        ("not on our books: Ada", "not_found"),
        ("Who is 'Ada'? Nobody of that name is a member.", "not_found"),
        ("No room Ada. Use list_rooms to see them.", "not_found"),
        ("E_NO_SLOT", "inconclusive"),
        ("store/ada -> 503", "inconclusive"),
    ],
)
def test_a_denial_of_what_the_call_names_is_no_success(text, outcome):
    assert _judge(TextAnswer(text=text), "book_room", room=12, name="Ada").outcome == outcome


@pytest.mark.parametrize("text", ["Nothing was heard of Ada", "Ada -> 12", "E_mail sent to Ada", "Nobody was hurt"])
def test_what_only_looks_like_such_a_denial_is_a_success(text):
    assert _judge(TextAnswer(text=text), "find_news", name="Ada").outcome == "success"


def test_a_command_that_is_a_bare_word_beside_its_device_runs_no_program():
    text = "It runs already, I will not start it twice."
    assert _judge(TextAnswer(text=text), "pump_command", pump="p7", command="start").outcome == "invalid_arguments"


def test_a_name_in_quotes_begins_no_complaint_and_the_tools_own_verb_is_no_denial():
    done = TextAnswer(text="'Error in the Orchard' (ac-77) is ripe now.")
    assert _judge(done, "tend", accord="ac-77", step="rest").outcome == "success"
    assert _judge(TextAnswer(text="Browser locked."), "browser_lock", action="lock").outcome == "success"


def test_who_is_told_to_do_something_with_a_thing_may_name_it_in_a_refusal():
    text = "The cabinet has tripped, so 'Ash Wednesday' went back as it was.\n" * 4
    assert _judge(TextAnswer(text=text), "chill", name="Ash Wednesday").certainty != "certain"
    assert _judge(TextAnswer(text=text), "show_story", name="Ash Wednesday").certainty == "certain"


def test_an_error_that_names_a_parameter_of_the_schema_is_about_the_call():
    tool = Tool(name="read", input_schema={"properties": {"leaf": {}, "word": {}}})
    answer = ToolResult(content=({"type": "text", "text": "Tell me a leaf or a word; neither came."},), is_error=True)
    call = Call(position="s1c1", name="srv/read", tool="read", arguments={})
    assert judge_answer(call, answer, evidence="replay", tool=tool).outcome == "invalid_arguments"
