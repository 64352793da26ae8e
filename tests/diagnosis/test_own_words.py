"""Whose words an error is: a program's own, not its harness's; those of a tool where there is no server."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.diagnosis import findings_of_call
from replay.outcomes.error_report import program_words
from tests.runs import case_of, failed

HEAD = "Chunk ID: a696c4\nWall time: 0.6 seconds\nProcess exited with code 2\nOriginal token count: 9\nOutput:\n"


@pytest.mark.parametrize("printed", ["usage: grep [-E] pattern", "3 tests failed, 2 passed", "fatal: no remote"])
def test_a_failed_program_is_told_by_what_it_printed(tmp_path: Path, printed: str) -> None:
    context = case_of(tmp_path, [failed("exec_command", {"cmd": "run it"}, f"{HEAD}{printed}")])
    (finding, *_) = findings_of_call(context, "s1c1")
    assert (finding.kind, finding.sentence) == ("program-failed", f"The program that the call ran failed: {printed}.")
    assert "Chunk ID" not in context.rows["s1c1"].message
    assert printed in context.rows["s1c1"].message


def test_a_program_that_printed_nothing_is_told_without_the_harness_lines(tmp_path: Path) -> None:
    context = case_of(tmp_path, [failed("exec_command", {"cmd": "run it"}, HEAD)])
    assert "Chunk ID" not in context.rows["s1c1"].message


def test_a_text_that_has_an_output_line_of_its_own_keeps_what_stands_before() -> None:
    assert program_words("the report says\nOutput:\n3") == "the report says\nOutput:\n3"


def test_a_tool_without_a_server_has_words_of_its_own(tmp_path: Path) -> None:
    context = case_of(tmp_path, [failed("edit", {"path": "a", "old": "b"}, "must read the file before it is edited")])
    sentences = [finding.sentence for finding in findings_of_call(context, "s1c1")]
    assert sentences
    assert not any("server" in sentence.lower() for sentence in sentences)


def test_a_question_ends_what_a_tool_says_and_no_tag_stands_around_it(tmp_path: Path) -> None:
    answer = "<tool_use_error>File does not exist. Did you mean notes.txt?</tool_use_error>"
    context = case_of(tmp_path, [failed("Read", {"file_path": "/srv/note"}, answer)])
    (finding, *_) = findings_of_call(context, "s1c1")
    assert finding.sentence == "The tool's words: File does not exist. Did you mean notes.txt?"
    assert finding.suggestion == "The tool says: Did you mean notes.txt?"
