"""What harnesses, servers and programs put around or into a failure, in wordings made up after the code."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.records import Call, TextAnswer, ToolResult


def _judged(tool, arguments, text, *, flag=None):
    call = Call(position="s1c1", name=tool, tool=tool, arguments=arguments)
    blocks = ({"type": "text", "text": text},)
    answer = TextAnswer(text=text) if flag is None else ToolResult(content=blocks, is_error=flag)
    return judge_answer(call, answer, evidence="recorded")


STATE = "\n<environment_details>\n# Open Tabs\nsrc/failed_login.ts\n\n# Mode\nError hunting\n</environment_details>"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Booked room 12." + STATE, "success"),
        ("Error: there is no room 99" + STATE, "not_found"),
        ("Error: from must be a date\n<workspace_context>\nbranch: main\n</workspace_context>\n", "invalid_arguments"),
        ("Booked.\n<system-reminder>\nfile a.py has changed\n</system-reminder>", "success"),
    ],
)
def test_what_a_harness_writes_below_an_answer_does_not_decide(text, outcome):
    assert _judged("book_room", {"room": "99", "from": "x"}, text).outcome == outcome


def test_a_tag_below_an_answer_that_is_all_there_is_stays():
    judged = _judged("run_shell", {"command": "make"}, "\n<environment>\nbuilt\n</environment>")
    assert judged.outcome == "success"


@pytest.mark.parametrize(
    "text",
    [
        "content='rows: 3\\nerrors: none' name='count_rows' tool_call_id='call_17'",
        "content='[{\"id\": 1}]' additional_kwargs={} response_metadata={} name='count_rows' tool_call_id='c1'",
        "ToolMessage(content='3 rows', name='count_rows', id='1', tool_call_id='call_9')",
        "[FunctionExecutionResult(content='3 rows', name='count_rows', call_id='c', is_error=False)]",
    ],
)
def test_the_repr_of_a_message_that_answers_a_call_is_opened(text):
    judged = _judged("count_rows", {"table": "orders"}, text)
    assert judged.outcome == "success"
    assert judged.layers


def test_the_status_of_a_message_that_answers_a_call_is_its_flag():
    text = "content='start must lie before end' name='plan' tool_call_id='call_2' status='error'"
    assert _judged("plan", {"start": "9", "end": "8"}, text).outcome == "invalid_arguments"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("I encountered an error while using the tool. The error was: invalid date 'soon'", "invalid_arguments"),
        ("We ran into an unexpected error: 503 Service Unavailable", "inconclusive"),
        ("The agent hit an exception: Connection refused", "inconclusive"),
        ("I have got an error. This is the error: user 7 not found", "not_found"),
    ],
)
def test_a_harness_that_says_that_it_met_an_error_reports_one(text, outcome):
    assert _judged("get_plan", {"user": "7", "day": "soon"}, text).outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "make_plan is not a valid tool, try one of [search, browse].",
        "Error: 'make_plan' is not a registered function. Choose from: search",
        "Action 'make_plan' does not exist, these are the actions: search, browse",
        "make_plan is not an available action",
    ],
)
def test_a_name_that_is_no_tool_is_an_unknown_tool(text):
    assert _judged("make_plan", {"goal": "x"}, text).outcome == "unknown_tool"


@pytest.mark.parametrize(
    "text",
    [
        "No connection found for server: planner. Use one of the connected servers.",
        "Server 'planner' is not configured. Available servers: search",
        "No active session for MCP server planner",
    ],
)
def test_a_server_that_the_harness_does_not_have_is_an_unknown_tool(text):
    call = Call(position="s1c1", name="planner/plan", server="planner", tool="plan", arguments={"goal": "x"})
    assert judge_answer(call, TextAnswer(text=text), evidence="recorded").outcome == "unknown_tool"


@pytest.mark.parametrize(
    "text",
    [
        "Permission to use write_page has been automatically denied.",
        "The approval was auto-declined because nobody is there.",
        "This command contains several operations. The following parts require approval: rm -r build",
        "Deleting a page needs manual confirmation",
    ],
)
def test_a_call_that_nobody_permitted_is_not_the_models_fault(text):
    judged = _judged("write_page", {"title": "a"}, text, flag=True)
    assert (judged.outcome, judged.reason) == ("inconclusive", "unauthorized")


@pytest.mark.parametrize(
    "text",
    [
        'Tool "plan" response (91000 tokens) exceeds the allowed maximum of 25000 tokens.',
        "Error: MCP tool 'plan' result (2 MB) is too large to be shown",
    ],
)
def test_an_answer_that_is_held_back_for_its_size_is_no_refusal(text):
    assert _judged("plan", {"goal": "x"}, text).outcome == "inconclusive"


@pytest.mark.parametrize(
    "text",
    [
        "start indexer: the worker process exited: exit status 3",
        "Converter failed: Command failed with exit code 2: syntax error near line 4",
        "The language server crashed with signal 11",
    ],
)
def test_a_program_of_the_servers_own_that_ends_badly_is_the_environments_fault(text):
    assert _judged("open_project", {"project": "shop"}, text, flag=True).outcome == "inconclusive"


def test_a_program_that_the_call_brought_is_still_the_models_fault():
    text = "Command failed with exit code 2: syntax error near line 4"
    assert _judged("run_command", {"command": "sh build.sh"}, text, flag=True).outcome == "invalid_arguments"


@pytest.mark.parametrize(
    ("arguments", "text", "outcome"),
    [
        ({"city": "Rome"}, "name 'get_client' is not defined", "inconclusive"),
        ({"city": "Rome"}, "Error: fetchForecast is not defined", "inconclusive"),
        ({"expression": "foo"}, "name 'foo' is not defined", "invalid_arguments"),
        ({"city": "Rome"}, "unhashable type: 'list'", "inconclusive"),
        ({"city": "Rome"}, "<Forecast object at 0x7f2a99d0c110> is detached", "inconclusive"),
    ],
)
def test_a_name_that_the_servers_code_lacks_is_its_own_fault(arguments, text, outcome):
    assert _judged("forecast", arguments, text, flag=True).outcome == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The Godot editor is not connected", "inconclusive"),
        ("Not connected", "inconclusive"),
        ("Error: the render farm is not responding", "inconclusive"),
        ("Error: job 17 is not running", "invalid_arguments"),
    ],
)
def test_what_the_server_needs_and_lacks_is_the_environments_fault(text, outcome):
    assert _judged("stop_job", {"job": "job 17"}, text, flag=True).outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "The mailbox is temporarily locked. Try again in a minute.",
        "Resource temporarily busy, please wait.",
    ],
)
def test_what_is_busy_for_now_is_no_success(text):
    assert _judged("send_mail", {"to": "ann"}, text).outcome == "inconclusive"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('Request failed: {"error": {"message": "502 Bad Gateway"}}', "inconclusive"),
        ('POST failed: {"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": "404 {}"}}', "not_found"),
        ('Execution failed: run failed: {"status": 0, "body": null, "error": ""}', "inconclusive"),
    ],
)
def test_the_json_at_the_end_of_an_error_tells_its_status(text, outcome):
    assert _judged("create_page", {"title": "x"}, text, flag=True).outcome == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"code": "invalid_type", "expected": "number", "path": ["n"], "message": "Required"}', "invalid_arguments"),
        ('{"name": "QueryError", "status": 422, "headers": {}, "body": "{\\"a\\": 1}"}', "invalid_arguments"),
        ('[{"text": "Error executing plan: LoginError(401, \'Unauthorized\')"}]', "inconclusive"),
        (
            '{"text": "{\\"status\\": \\"error\\", \\"reason\\": \\"n must be 1\\"}", "is_error": false}',
            "invalid_arguments",
        ),
        ('{"text": "{\\"rows\\": 3}", "data": {"rows": 3}, "is_error": false, "error_message": ""}', "success"),
    ],
)
def test_objects_that_are_errors_in_other_shapes(text, outcome):
    assert _judged("plan", {"n": "x"}, text).outcome == outcome


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"command": "curl -s http://localhost/api/items"}, '{"success": false, "error": "out of stock"}'),
        ({"command": "wget -qO- example.org/x.json | jq ."}, '{"error": "not found", "status": 404}'),
        ({"code": "() => ({errors: found, title: document.title})"}, '{"errors": ["x failed"], "title": "Shop"}'),
        (
            {"command": 'ssh box "cd app && tail -n 5 server.log"'},
            "Error: database is gone\n  at index.js:3\n  at b.js:4",
        ),
    ],
)
def test_what_a_program_of_the_models_own_prints_is_content(arguments, text):
    assert _judged("run_code", arguments, text).outcome == "success"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Observation:\nError: no such column: price", "invalid_arguments"),
        ("Observation: 3 rows\nid 1\nid 2", "success"),
        ("### Observation\nError: 503 Service Unavailable", "inconclusive"),
        ("OBSERVATION:\nERROR: unknown tool 'run_sql'", "unknown_tool"),
    ],
)
def test_an_observation_is_opened_as_a_result_is(text, outcome):
    assert _judged("run_sql", {"sql": "select price from shop"}, text).outcome == outcome


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "outcome"),
    [
        ("browser", {"action": "close"}, "The browser has been closed. Go on with other tools.", "success"),
        ("stop_server", {"name": "web"}, "Server web was terminated and stopped.", "success"),
        ("abort_job", {"id": "7"}, "Job 7 has been successfully aborted.", "success"),
        ("click", {"ref": "e1"}, "Target page, context or browser has been closed", "inconclusive"),
        ("close_page", {"id": "7"}, "The page was not closed: connection refused", "inconclusive"),
    ],
)
def test_the_word_that_the_action_was_done_is_no_failure(tool, arguments, text, outcome):
    assert _judged(tool, arguments, text).outcome == outcome


def test_an_error_envelope_of_a_tool_that_runs_programs_is_still_one():
    judged = _judged("run_code", {"code": "print(1)"}, '{"success": false, "error": "sandbox is not running"}')
    assert judged.outcome == "inconclusive"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Lookup failed for term 'tide table': https://sea.example/find?q=tide returned nothing", "inconclusive"),
        ("Price check failed while asking: https://shop.example/p/7 return null. headers=None", "inconclusive"),
        ("Forecast failed for Bergen: connection reset by peer", "inconclusive"),
    ],
)
def test_a_task_that_failed_for_what_was_asked_is_no_content(text, outcome):
    assert _judged("web_lookup", {"term": "tide table"}, text).outcome == outcome


def test_tests_that_failed_are_the_content_of_a_report_on_them():
    assert _judged("run_tests", {"suite": "unit"}, "3 tests failed for suite unit: a, b, c").outcome == "success"


@pytest.mark.parametrize("name", ["mcp__harbour__list_ships", "harbour/list_ships", "harbour.list_ships"])
def test_a_call_that_the_client_cannot_route_is_of_an_unknown_tool(name):
    assert _judged(name, {"port": "Bergen"}, f"unsupported call: {name}").outcome == "unknown_tool"
    assert _judged(name, {"port": "Bergen"}, f"Unknown tool call: '{name}'").outcome == "unknown_tool"


@pytest.mark.parametrize(
    "text",
    ['{"code": "AUTH_REQUIRED", "message": "no active login"}', "Error: the client is unauthenticated, log in first"],
)
def test_a_login_that_is_wanting_is_not_the_models_fault(text):
    assert _judged("list_ships", {"port": "Bergen"}, text, flag=True).outcome == "inconclusive"
