"""What is wrong with one call, and what would have been right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.diagnosis import findings_of_call
from tests.runs import call, case_of, failed, schema, server

FILES = server(
    "files",
    read=schema("path", head={"type": "integer", "minimum": 1}, mode={"enum": ["text", "binary"]}),
    draw=schema(
        "path",
        ink={"anyOf": [{"$ref": "#/$defs/Ink"}, {"type": "null"}], "default": None},
        width={"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
        at={"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
    )
    | {"$defs": {"Ink": {"enum": ["red", "blue"]}}},
    list=schema("path"),
    save={"type": "object", "properties": {"data": {"type": "object", "required": ["name"]}}},
)
REFUSED = "Input validation error"


def told(
    directory: Path, *calls: dict[str, Any], position: str = "s1c1", offline: bool = False, **fields: Any
) -> dict[str, tuple[str, Any]]:
    """Kind -> sentence and suggestion."""
    case = case_of(directory, calls, *([] if offline else [FILES]), **fields)
    return {one.kind: (one.sentence, one.suggestion) for one in findings_of_call(case, position)}


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence", "suggestion"),
    [
        ({}, "missing-field", 'The required field "path" is missing.', 'Add "path" (string).'),
        ({"path": 5}, "wrong-type", '"path" must be of type string, and is of type integer: 5.', '"5" and not 5'),
        ({"path": "a", "head": "3"}, "wrong-type", '"head" must be of type integer', "3 and not"),
        ({"path": "a", "head": 0}, "out-of-bounds", "0 is less than the minimum of 1", "minimum: 1"),
        ({"path": "a", "mode": "txt"}, "not-a-choice", 'has the value "txt"', '"text"; the choices are'),
        ({"file_path": "a"}, "misnamed-field", 'The field "path" is missing', 'Rename "file_path" to "path".'),
        (
            {"path": "a", "verbose": True},
            "unexpected-field",
            'no field "verbose"',
            'takes "path", "head" and "mode"',
        ),
    ],
)
def test_a_broken_schema_names_the_part_and_the_fix(
    tmp_path: Path, arguments: dict[str, Any], kind: str, sentence: str, suggestion: str
) -> None:
    found = told(tmp_path, failed("files/read", arguments, REFUSED))
    assert sentence in found[kind][0]
    assert suggestion in str(found[kind][1])


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence", "suggestion"),
    [
        ({"path": "a", "ink": "redd"}, "not-a-choice", 'has the value "redd"', '"red"; the choices are'),
        ({"path": "a", "width": 10}, "out-of-bounds", "10 is greater than the maximum of 9", "maximum: 9"),
        (
            {"path": "a", "width": "10"},
            "wrong-type",
            'must be of type integer, and is of type string: "10"',
            "10 and not",
        ),
        ({"path": "a", "at": [1]}, "schema-violation", "not valid under any of the given schemas", "None"),
    ],
)
def test_a_field_that_may_be_null_is_told_by_its_one_other_type(
    tmp_path: Path, arguments: dict[str, Any], kind: str, sentence: str, suggestion: str
) -> None:
    found = told(tmp_path, failed("files/draw", arguments, REFUSED))
    assert sentence in found[kind][0]
    assert suggestion in str(found[kind][1])


def test_a_field_with_another_name_is_one_finding_and_not_two(tmp_path: Path) -> None:
    assert list(told(tmp_path, failed("files/read", {"file_path": "a"}, REFUSED))) == ["misnamed-field"]


def test_an_unlike_field_is_never_offered_as_the_missing_one(tmp_path: Path) -> None:
    found = told(tmp_path, failed("files/read", {"width": "a"}, REFUSED))
    assert "misnamed-field" not in found
    assert {"missing-field", "unexpected-field"} <= set(found)


def test_the_only_stray_field_is_the_missing_one_where_one_is_short_for_the_other(tmp_path: Path) -> None:
    shop = server("shop", search=schema("q"))
    case = case_of(tmp_path, [failed("shop/search", {"query": "lamps"}, REFUSED)], shop)
    (first, *_) = findings_of_call(case, "s1c1")
    assert (first.kind, first.suggestion) == ("misnamed-field", 'Rename "query" to "q".')
    wrong = case_of(tmp_path, [failed("shop/search", {"query": ["lamps"]}, REFUSED)], shop)
    assert "misnamed-field" not in {finding.kind for finding in findings_of_call(wrong, "s1c1")}


def test_a_field_missing_inside_an_object_is_placed_there(tmp_path: Path) -> None:
    found = told(tmp_path, failed("files/save", {"data": {}}, REFUSED))
    assert found["missing-field"][0] == 'The required field "name" is missing in "data".'


def test_what_a_later_call_has_in_a_missing_field_is_said(tmp_path: Path) -> None:
    found = told(tmp_path, failed("files/read", {}, REFUSED), failed("files/list", {"path": "/x/y"}, "no"))
    assert found["missing-field"][1] == 'Add "path" (string); s2c1 has "/x/y" there.'


def test_a_violation_that_the_server_took_says_so(tmp_path: Path) -> None:
    found = told(tmp_path, call("files/read", {"path": "a", "head": "3"}, "three lines"))
    assert "the server took the call all the same" in found["wrong-type"][0]


@pytest.mark.parametrize(
    ("answer", "arguments", "kind", "words"),
    [
        (
            "MCP error -32602: Input validation error: Invalid input: expected string, received undefined at message",
            {},
            "missing-field",
            '"message"',
        ),
        (
            (
                'Invalid arguments for write: [{"expected": "number", "code": "invalid_type", "path": ["head"], '
                '"message": "Invalid input: expected number, received string"}]'
            ),
            {"head": "two"},
            "wrong-type",
            '"head" must be of type number',
        ),
        (
            (
                "1 validation error for fooArguments\nlimit\n  Input should be a valid integer, unable to parse string "
                "[type=int_parsing, input_value='x', input_type=str]"
            ),
            {"limit": "x"},
            "wrong-type",
            '"limit" must be of type integer',
        ),
        (
            "1 validation error for fooArguments\nurl\n  Field required [type=missing, input_value={}]",
            {},
            "missing-field",
            '"url"',
        ),
        ("Input validation error: 'query' is a required property", {}, "missing-field", '"query"'),
        (
            'Invalid input: expected one of "red"|"blue" at colour',
            {"colour": "green"},
            "not-a-choice",
            "none of its choices",
        ),
        (
            (
                '{"status": 400, "object": "error", "message": "body failed validation: body.tags[0] should be '
                'an object, instead was `\\"x\\"`."}'
            ),
            {"tags": ["x"]},
            "wrong-type",
            '"tags[0]" must be of type object',
        ),
    ],
)
def test_without_a_tools_list_the_servers_own_complaint_is_read(
    tmp_path: Path, answer: str, arguments: dict[str, Any], kind: str, words: str
) -> None:
    case = case_of(tmp_path, [failed("other/tool", arguments, answer)])
    found = {one.kind: one.sentence for one in findings_of_call(case, "s1c1")}
    assert words in found.get(kind, str(found))


@pytest.mark.parametrize(
    ("name", "kind", "suggestion"),
    [
        ("files/raed", "nearly-a-tool", 'The nearest tool is "files/read"'),
        ("read", "tool-without-server", 'Call "files/read"'),
        ("other/list", "tool-of-another-server", 'Call "files/list"'),
        ("server/tool", "placeholder-tool", 'Servers of the fleet: "files".'),
        ("files/xyzzy", "no-such-tool", 'Server "files" has "read", "draw", "list" and "save".'),
    ],
)
def test_an_unknown_tool_names_the_right_one(tmp_path: Path, name: str, kind: str, suggestion: str) -> None:
    found = told(tmp_path, call(name, {}, None))
    assert suggestion in str(found[kind][1])


@pytest.mark.parametrize(
    ("fields", "kind", "suggestion"),
    [
        ({"raw": '"message=hi"', "unreadable": "arguments"}, "arguments-not-an-object", '{"message": "hi"}'),
        ({"raw": '{"path": "a', "unreadable": "arguments"}, "cut-off-call", "more output tokens"),
        ({"unreadable": "arguments"}, "no-arguments", 'Add "arguments"'),
        ({"raw": r'{"a": "\d"}', "unreadable": "arguments"}, "broken-escape", "twice"),
        ({"raw": '{"a": 1} and more', "unreadable": "arguments"}, "text-after-call", "End the message"),
    ],
)
def test_a_call_that_is_no_call_says_how_to_write_it(
    tmp_path: Path, fields: dict[str, Any], kind: str, suggestion: str
) -> None:
    given = {"name": "files/read", **fields}
    assert suggestion in str(told(tmp_path, given)[kind][1])


def test_a_missing_file_is_named_with_its_place(tmp_path: Path) -> None:
    found = told(
        tmp_path, failed("files/read", {"path": "/w/a.txt"}, "ENOENT: no such file or directory, open '/w/a.txt'")
    )
    assert found["missing-thing"][0] == '"path" names "/w/a.txt", which is not there.'


def test_a_name_that_an_earlier_answer_nearly_holds_is_offered(tmp_path: Path) -> None:
    missing = failed("files/read", {"path": "/w/reprot.txt"}, "ENOENT: no such file or directory, open '/w/reprot.txt'")
    found = told(tmp_path, call("files/list", {"path": "/w"}, "report.txt\nnotes.txt"), missing, position="s2c1")
    assert found["missing-thing"][1] == 's1c1 named "report.txt": that may be the one that was meant.'


@pytest.mark.parametrize(
    ("asked", "known", "meant"),
    [
        ("/w/pkg/pkg/README.md", "/w/pkg/README.md", True),
        ("src/test/one.test.ts", "src/test/deep/one.test.ts", True),
        ("/w/a_file.txt", "/w/a-file.txt", True),
        ("/home/ann/.claude/run.sh", "~/.claude/run.sh", False),
        ("src/ui/dialog.rs", "src/app/dialog.rs", False),
        ("bench/README.md", "/other/bench/README.md", False),
        ("/w/src/balance/", "balance", False),
        ("commit", "commits", False),
        ("Summary", "summary", True),
        ("/w/seed.ts", "seed", False),
    ],
)
def test_a_known_path_is_offered_where_a_folder_or_the_spelling_differs(
    tmp_path: Path, asked: str, known: str, meant: bool
) -> None:
    missing = failed("files/read", {"path": asked}, f"ENOENT: no such file or directory, open '{asked}'")
    found = told(tmp_path, call("files/list", {"path": "/w"}, f"{known}\nmore.log"), missing, position="s2c1")
    assert (found["missing-thing"][1] is not None) is meant


def test_a_word_of_a_command_is_not_taken_for_another_word(tmp_path: Path) -> None:
    listed = call("own/shell", {"command": "ls"}, "Test of all.md\nok")
    answer = "rg: test: No such file or directory (os error 2)\nCommand completed with return code: 2"
    missing = failed("own/shell", {"command": "rg -n load src test"}, answer)
    found = told(tmp_path, listed, missing, position="s2c1", offline=True)
    assert found["missing-thing"][1] is None


def test_an_address_that_an_error_only_mentions_is_not_what_is_missing(tmp_path: Path) -> None:
    answer = "404 Not Found. The documentation is at https://example.org/docs"
    found = told(tmp_path, failed("files/patch", {"text": "x"}, f"Error: {answer}"), offline=True)
    assert "missing-address" not in found


def test_an_address_is_not_taken_apart_into_a_guess(tmp_path: Path) -> None:
    answer = "failed: GET https://api.example.org/repos/ann/tool/contents/a.md: 404 Not Found []"
    found = told(
        tmp_path, failed("git/contents", {"owner": "ann", "repo": "tool", "path": "a.md"}, answer), offline=True
    )
    assert "missing-address" in found
    assert "missing-thing" not in found


def test_a_program_that_is_not_installed_is_not_called_an_invented_name(tmp_path: Path) -> None:
    answer = "Command execution failed: [Errno 2] No such file or directory: 'tree'"
    found = told(tmp_path, failed("shell/run", {"command": "tree -L 2"}, answer), offline=True)
    assert "missing-program" in found
    assert "invented-value" not in found


@pytest.mark.parametrize("value", ["REPLACE_WITH_ACTUAL_ID", "<your-file-id>", "{{step1.id}}", "/path/to/file.txt"])
def test_a_placeholder_in_a_failed_call_is_recognised(tmp_path: Path, value: str) -> None:
    found = told(tmp_path, failed("files/read", {"path": value}, f"ENOENT: no such file or directory, open '{value}'"))
    assert "placeholder-argument" in found


def test_a_placeholder_that_the_question_gave_is_none(tmp_path: Path) -> None:
    missing = failed("files/read", {"path": "YOUR_FILE"}, "ENOENT: no such file or directory, open 'YOUR_FILE'")
    assert "placeholder-argument" not in told(tmp_path, missing, question="Read the file called YOUR_FILE.")


def test_a_template_that_is_written_into_a_file_is_no_placeholder(tmp_path: Path) -> None:
    found = told(tmp_path, call("files/save", {"data": {"name": "a", "text": "<name> is to be filled in"}}, "saved"))
    assert found == {}


def test_a_name_from_nowhere_is_invented_and_one_from_the_question_is_not(tmp_path: Path) -> None:
    answer = "ENOENT: no such file or directory, open '/w/budget.csv'"
    missing = failed("files/read", {"path": "/w/budget.csv"}, answer)
    (tmp_path / "a").mkdir()
    assert "invented-value" in told(tmp_path / "a", missing)
    (tmp_path / "b").mkdir()
    assert "invented-value" not in told(tmp_path / "b", missing, question="Sum up budget.csv, please.")


def test_nothing_is_called_invented_where_the_question_is_unknown_or_an_answer_was_not_recorded(tmp_path: Path) -> None:
    missing = failed("files/read", {"path": "/w/budget.csv"}, "ENOENT: no such file or directory, open '/w/budget.csv'")
    (tmp_path / "a").mkdir()
    assert "invented-value" not in told(tmp_path / "a", missing, question=None)
    (tmp_path / "b").mkdir()
    unanswered = call("files/list", {"path": "/w"}, None)
    assert "invented-value" not in told(tmp_path / "b", unanswered, missing, position="s2c1")


def test_a_refusal_that_names_the_sandbox_says_what_is_allowed(tmp_path: Path) -> None:
    answer = "Error: Access denied - path outside allowed directories: /etc/passwd not in /ws"
    found = told(tmp_path, failed("files/read", {"path": "/etc/passwd"}, answer))
    assert found["refused-by-policy"][1] == "The server says: allowed is what lies in /ws."


def test_an_error_that_speaks_of_no_argument_gets_only_a_generic_finding(tmp_path: Path) -> None:
    answer = 'Error: No open pages available. Use the "navigate" tool first.'
    case = case_of(tmp_path, [failed("browser/wait", {"time": 10}, answer)])
    findings = findings_of_call(case, "s1c1")
    assert [(one.kind, one.specific) for one in findings] == [("refused", False)]


def test_the_exception_of_a_program_and_its_line_are_named(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "/t/x.py", line 8, in <module>\n    go()\n'
    answer = f"=== STDERR ===\n{trace}NameError: name 'rows' is not defined\nCommand completed with return code: 1"
    first = call("code/run_python", {"code": "rows = [1]"}, "done\nCommand completed with return code: 0")
    found = told(
        tmp_path, first, failed("code/run_python", {"code": "print(rows)"}, answer), position="s2c1", offline=True
    )
    assert "raised NameError in line 8" in found["program-failed"][0]
    assert 'Define "rows" in the code of this call. s1c1 set it' in str(found["program-failed"][1])


def test_the_same_call_as_it_later_succeeded_is_shown_with_what_changed(tmp_path: Path) -> None:
    missing = failed("files/read", {"path": "/w/a_file.txt"}, "ENOENT: no such file or directory, open '/w/a_file.txt'")
    found = told(
        tmp_path, missing, call("files/list", {"path": "/w"}), call("files/read", {"path": "/w/a-file.txt"}, "text")
    )
    assert found["later-succeeded"] == (
        "2 calls later, s3c1 called the same tool and succeeded.",
        'As in s3c1: "path" is "/w/a-file.txt".',
    )


def test_what_succeeded_in_part_is_told_with_its_answer(tmp_path: Path) -> None:
    answer = '{"moved": ["one.txt"], "failed": [{"id": "two.txt", "reason": "not in the folder"}]}'
    found = told(tmp_path, call("files/move", {"names": ["one.txt", "two.txt"]}, answer), position="s1c1", offline=True)
    assert "succeeded in part" in found["partial"][0]
    assert "not in the folder" in found["partial"][0]


def test_a_failed_call_does_not_make_known_the_id_that_it_named(tmp_path: Path) -> None:
    calls = [failed("art/lend", {"work_id": name}, f"Error: {name} is not ours") for name in ("x7f3q9z1", "x7f3q9z1")]
    found = told(tmp_path, *calls, position="s2c1", offline=True, question="Lend them.")
    assert "x7f3q9z1" in found["invented-identifier"][0]


def test_a_call_without_a_verdict_has_no_finding(tmp_path: Path) -> None:
    assert findings_of_call(case_of(tmp_path, [call("files/list", {"path": "/w"})], FILES), "s9c9") == ()


def test_a_program_that_stands_in_a_file_is_not_mended_in_the_call(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "/t/app.py", line 8, in <module>\n    go()\n'
    answer = f"{trace}NameError: name 'rows' is not defined\nCommand completed with return code: 1"
    found = told(tmp_path, failed("code/run_command", {"command": "python app.py"}, answer), offline=True)
    assert "raised NameError in line 8" in found["program-failed"][0]
    assert found["program-failed"][1] is None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, "no-answer"),
        ("Cannot read properties of undefined (reading 'map')", "server-fault"),
        ("HTTP Error 401: Unauthorized, invalid API key", "unauthorized"),
    ],
)
def test_no_fleet_and_no_maintainer_is_named_for_a_tool_of_the_agent_s_own(
    tmp_path: Path, answer: str | None, kind: str
) -> None:
    own = call("WebFetch", {"about": "boats"}, answer, error=True, local=True)
    found = told(tmp_path, own, offline=True)
    assert found[kind][1] is None


def test_a_program_that_is_not_there_is_named_wherever_the_command_starts_it(tmp_path: Path) -> None:
    command = "cd /w && timeout 5 uvicorn main:app"
    found = told(tmp_path, failed("sh/run", {"command": command}, "(eval):1: command not found: timeout"), offline=True)
    assert found["missing-program"][1] == 'Do without "timeout", or install it where the command runs.'


def test_a_column_of_a_query_is_not_called_a_program(tmp_path: Path) -> None:
    query = "SELECT id, CASE\n  age_group\n  WHEN 1 THEN 'young' END FROM people"
    found = told(
        tmp_path, failed("db/run", {"query": query}, 'Error: column "age_group" does not exist\nLINE 2'), offline=True
    )
    assert found["missing-thing"][0].startswith('"query" needs column "age_group"')


def test_an_answer_that_repeats_the_arguments_does_not_speak_of_them(tmp_path: Path) -> None:
    arguments = {"server": "Notion", "action_name": "patch_page", "body": "{}"}
    problem = {"error": "HTTP 400", "message": "body.title should be defined, instead was `undefined`."}
    answer = json.dumps({"server": "Notion", "action_name": "patch_page", "result": {**problem, "request_id": "af2d"}})
    found = told(tmp_path, failed("hub/execute", arguments, answer), offline=True)
    [(sentence, advice)] = found.values()
    assert "patch_page" not in sentence
    assert advice == "The server says: body.title should be defined, instead was `undefined`."


@pytest.mark.parametrize("words", ["missing required parameter: owner", "Missing required 'owner' field in the body"])
def test_a_field_that_an_error_calls_missing_is_named(tmp_path: Path, words: str) -> None:
    found = told(tmp_path, failed("hub/fork", {"repo": "boats"}, words), offline=True)
    assert found["missing-field"] == ('The required field "owner" is missing.', 'Add "owner".')


def test_of_a_call_without_arguments_nothing_is_said_to_be_given(tmp_path: Path) -> None:
    answer = 'Error: syntax error at or near "all"\nLINE 1: all'
    found = told(tmp_path, failed("db/execute_sql", {}, answer), offline=True)
    assert found["malformed-value"][0].startswith(
        "The call gives no arguments, and what stood for them could not be parsed"
    )
