from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.outcomes import Classifier, Registry, judge_answer
from replay.records import (
    Call,
    Outcome,
    Reason,
    RpcError,
    RuleSpec,
    SchemaViolation,
    Server,
    TextAnswer,
    Tool,
    ToolResult,
    TransportFault,
)

VIOLATION = SchemaViolation(pointer="/n", keyword="type", message="'x' is not of type 'integer'")


def _call(tool="get_item", **arguments):
    return Call(position="s1c1", name=f"srv/{tool}", tool=tool, arguments=arguments)


def _result(*texts, error=False):
    return ToolResult(content=tuple({"type": "text", "text": text} for text in texts), is_error=error)


def _judge(call, answer, **known):
    return judge_answer(call, answer, evidence="replay", **known)


@pytest.mark.parametrize(
    "text",
    [
        "Error handling in Rust\n\nError: not found.\n",
        '{"error": "none", "status": 404}',
        "Error: ENOENT: no such file or directory, open '/srv/x'\nHTTP 404 not found\n",
        "Traceback (most recent call last):\n  File 'a.py'\nKeyError: 1\n",
        '{\n  "error": "File not found: /srv/data.bin",\n  "status": 404\n}\n',
        "Permission denied",
    ],
)
def test_a_file_that_reads_like_an_error_is_content(text):
    for answer in (_result(text), TextAnswer(text=text)):
        assert _judge(_call("read_text_file", path="/data/some.json"), answer).outcome == "success"


def test_a_report_that_names_the_file_asked_for_is_no_content():
    report = "Error: ENOENT: no such file or directory, open '/data/some.json'"
    assert _judge(_call("read_text_file", path="/data/some.json"), _result(report)).outcome == "not_found"


@pytest.mark.parametrize(
    ("path", "said"), [("/data/", "/data"), ("/data", "/data/"), ("C:\\a\\", "'C:\\a'"), ("/", "/")]
)
def test_an_error_that_is_the_path_asked_for_but_for_its_last_slash_is_a_failed_look_up(path, said):
    for text in (said, f"Error executing tool git_status: {said}"):
        assert _judge(_call("git_status", repo_path=path), _result(text, error=True)).rule == "answer.only-the-value"
    other = _result("Error executing tool git_status: /database", error=True)
    assert _judge(_call("git_status", repo_path=path), other).rule == "answer.error"


def test_a_text_that_an_earlier_call_stored_is_content_when_it_comes_back():
    call, text = _call("get_item", key="last"), "Error: 404 Not Found"
    assert _judge(call, _result(text)).outcome == "not_found"
    assert _judge(call, _result(text + "\n"), stored_texts=(text,)).outcome == "success"
    assert _judge(call, _result(text), stored_texts=(f"Then it said {text}.",)).outcome == "not_found"
    assert _judge(call, _result(text, error=True), stored_texts=(text,)).outcome == "not_found"


def test_an_error_word_that_the_call_chose_among_the_tools_options_is_an_answer():
    tool = Tool(name="annotate", input_schema={"properties": {"kind": {"enum": ["error", "debug"]}}})
    assert _judge(_call("annotate", kind="error"), _result("Error: Operation failed"), tool=tool).outcome == "success"
    free = Tool(name="annotate", input_schema={"properties": {"kind": {"type": "string"}}})
    assert _judge(_call("annotate", kind="error"), _result("Error: Operation failed"), tool=free).outcome != "success"


def test_what_the_call_brought_along_is_an_echo():
    assert _judge(_call("say", text="Error: not found"), _result("Error: not found")).outcome == "success"
    assert _judge(_call("say", text="404 not found"), _result("Echo: 404 not found")).outcome == "success"


def test_a_listed_tool_is_never_unknown():
    answer = _result("MCP error -32602: Tool get_item not found", error=True)
    assert _judge(_call(), answer).outcome == "unknown_tool"
    assert _judge(_call(), answer, tool=Tool(name="get_item")).outcome != "unknown_tool"


def test_a_failure_after_a_schema_violation_is_explained_by_it():
    judged = _judge(_call(n="x"), RpcError(code=-32603, message="n.filter is not a function"), violations=(VIOLATION,))
    assert (judged.outcome, judged.certainty) == ("invalid_arguments", "certain")
    assert "/n" in judged.message


def test_a_violation_does_not_hide_a_failed_look_up_or_the_network():
    lost = _result("ENOENT: no such file or directory, open '/data/a.txt'", error=True)
    assert _judge(_call(path="/data/a.txt", n="x"), lost, violations=(VIOLATION,)).outcome == "not_found"
    down = _result("getaddrinfo ENOTFOUND api.example.org", error=True)
    assert _judge(_call(n="x"), down, violations=(VIOLATION,)).reason == "network"


def test_what_the_server_took_and_refused_against_its_schema_are_findings():
    taken = _judge(_call(n="x"), _result("done"), violations=(VIOLATION,))
    assert (taken.outcome, taken.findings) == ("success", ("accepted-though-invalid",))
    refused = _result("Input validation error: 'm' is a required property", error=True)
    assert _judge(_call(n=1), refused, tool=Tool(name="get_item")).findings == ("refused-though-valid",)


@pytest.mark.parametrize("text", ["", "[]", "{}", "No matches found", '{"items": [], "count": 0}'])
def test_an_empty_answer_is_a_success_with_a_finding(text):
    judged = _judge(_call("search"), _result(text))
    assert (judged.outcome, judged.findings) == ("success", ("empty",))


def test_a_programs_exit_status_decides_and_not_what_it_printed():
    call = _call("run_command", command="python a.py")
    printed = _result("Error: row 3\n", "\nCommand completed with return code: 0")
    assert _judge(call, printed).outcome == "success"
    failed = _result("all is well\n", "\nCommand completed with return code: 2")
    assert _judge(call, failed).outcome == "invalid_arguments"


def test_a_search_without_a_match_is_no_failed_program():
    call = _call("run_command", command="grep needle hay.txt")
    assert _judge(call, _result("\nCommand completed with return code: 1")).findings == ("empty",)


def test_an_error_that_nothing_explains_is_not_charged_to_the_model():
    judged = _judge(_call(), _result("Error: hm", error=True))
    assert (judged.outcome, judged.reason, judged.certainty) == ("inconclusive", "unexplained", "fallback")


def test_the_users_own_rules_come_first():
    rule = RuleSpec(id="mine", pattern=r"quota left: 0", outcome=Outcome.INCONCLUSIVE, reason=Reason.RATE_LIMITED)
    broken = RuleSpec(id="broken", pattern="(", outcome=Outcome.SUCCESS)
    judged = _judge(_call(), _result("quota left: 0"), rules=(broken, rule))
    assert (judged.rule, judged.reason, judged.message) == ("mine", "rate-limited", "quota left: 0")


def test_a_call_that_is_not_sent_is_judged_by_schema_then_recording():
    tool = Tool(name="get_item", input_schema={"properties": {"n": {"type": "integer"}}})
    classifier = Classifier(Registry(servers={"srv": Server(name="srv", digest="d", tools=(tool,))}))

    def judged(n, answer=None):
        call = _call(n=n).model_copy(update={"answer": TextAnswer(text=answer) if answer else None})
        target = classifier.target(call)
        return classifier.not_reissued(target, classifier.recorded(call, target))

    assert judged("x").rule == "arguments.schema"
    assert judged("x", "Error: hm").evidence == "schema"
    assert judged("x", "fine").outcome == "success"
    assert judged(1, "Item x not found").outcome == "not_found"
    assert (judged(1).outcome, judged(1).reason) == ("inconclusive", "withheld")


def test_no_answer_is_never_the_models_doing():
    for kind in ("timeout", "closed", "not-started", "unreadable"):
        assert _judge(_call(), TransportFault(fault=kind, message="m")).outcome == "inconclusive"


def test_structured_content_alone_is_read():
    assert _judge(_call(), ToolResult(structured={"error": "Item 5 not found"})).outcome == "not_found"
    assert _judge(_call(), ToolResult(structured={"items": [1]})).outcome == "success"


WORDS = st.sampled_from(
    [
        "Error",
        ":",
        "not found",
        "failed",
        " ",
        "\n",
        "{",
        "}",
        '"error"',
        "404",
        "[",
        "]",
        "'",
        "null",
        "Traceback",
        "ECONN",
        "is",
    ]
)
TEXTS = st.lists(WORDS | st.text(max_size=8), max_size=40).map("".join)
VALUES = st.recursive(st.none() | st.booleans() | st.floats() | TEXTS, lambda inner: st.lists(inner, max_size=3))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    TEXTS,
    st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
    st.booleans(),
    st.sampled_from(["get_item", "run", ""]),
)
def test_no_text_and_no_arguments_can_break_the_classification(text, arguments, error, tool):
    call = Call(position="s1c1", name=tool, tool=tool, arguments=arguments)
    for answer in (_result(text, error=error), TextAnswer(text=text), RpcError(code=-32603, message=text)):
        judged = _judge(call, answer)
        assert (judged.outcome == "inconclusive") == (judged.reason is not None)


@pytest.mark.parametrize("piece", ["Error: not found ", "a" * 40 + " ", '{"error": "', "failed " * 5, "\n", "'x' "])
def test_a_huge_answer_is_judged(piece):
    text = piece * (5_000_000 // len(piece))
    assert _judge(_call("get_item", id="x" * 10_000), _result(text)).rule
    flagged = _judge(_call("get_item", id="x" * 10_000), _result(text, error=True))
    assert flagged.outcome != "success"
