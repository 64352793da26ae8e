"""Codes of known systems."""

from __future__ import annotations

import pytest

from replay.outcomes import judge_answer
from replay.outcomes.codes import CAUSES, cause_of_exit, cause_of_status, causes_in, code_rows
from replay.records import Call, ToolResult


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("open: ENOENT, x", "missing"),
        ("[Errno 13] x", "denied"),
        ("[Errno -2] x", "network"),
        ("rpc error: code = DEADLINE_EXCEEDED desc = x", "timeout"),
        ("SQLSTATE[42P01]: x", "missing"),
        ("SQLSTATE: 28P01", "unauthorized"),
        ("550 5.1.1 <a@b.example> x", "missing"),
        ("421 4.7.0 x", "outage"),
        ("Error from server (NotFound): pods x", "missing"),
        ('{"kind": "Status", "reason": "Forbidden", "code": 403}', "unauthorized"),
        ("An error occurred (ThrottlingException) when calling x", "rate-limited"),
        ("lookup a.example: NXDOMAIN", "network"),
        ("SQLITE_BUSY: x", "environment"),
        ("slack: channel_not_found", "missing"),
    ],
)
def test_a_code_says_a_cause(text, cause):
    assert cause in causes_in(text)


def test_words_that_are_codes_elsewhere_are_words_in_a_sentence():
    assert causes_in("Timeout, Forbidden and Conflict are three words; 4.5.1 is a version") == frozenset()


@pytest.mark.parametrize(
    ("status", "cause"), [(404, "missing"), (418, "invalid"), (503, "outage"), (504, "timeout"), (200, None)]
)
def test_every_error_status_has_a_cause(status, cause):
    assert cause_of_status(status) == cause


def test_a_shell_says_by_its_exit_code_that_it_could_not_run_the_program():
    assert (cause_of_exit(127), cause_of_exit(1)) == ("environment", None)
    call = Call(position="s1c1", name="run_command", tool="run_command", arguments={"command": "foo"})
    answer = ToolResult(content=({"type": "text", "text": "foo: x\nCommand completed with return code: 127"},))
    assert judge_answer(call, answer, evidence="replay").outcome == "inconclusive"


def test_every_row_of_the_tables_has_a_source_and_a_cause_whose_fault_is_known():
    for name, source, cause, codes in code_rows():
        assert cause in CAUSES, name
        assert source
        assert codes.split()
