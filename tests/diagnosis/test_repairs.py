"""A later success is a repair only where it asks for the same, and a fix only where the error speaks of a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.diagnosis.diagnose import findings_of_call
from replay.diagnosis.repairs import repair_of
from replay.diagnosis.trajectory_context import explains
from tests.runs import call, case_of, failed, schema, server

MISSING = "Error: no such file or directory"
SHELL = "sh: {}: No such file or directory\nCommand completed with return code: 1"


def repaired(tmp_path: Path, name: str, before: dict[str, Any], answer: str, after: dict[str, Any]) -> bool:
    """Whether the second call repairs the first."""
    tools = server("t", run=schema("command"), read=schema("path"), query=schema("sql"), book=schema("day", "guests"))
    listed = (tools,) if name.startswith("t/") else ()
    case = case_of(tmp_path, [failed(name, before, answer), call(name, after, "all is well")], *listed)
    assert str(case.rows["s1c1"].outcome) in ("not_found", "invalid_arguments")
    assert str(case.rows["s2c1"].outcome) == "success"
    return repair_of(case, "s1c1") is not None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("cd /work/project && cat notes.txt", "cd /work/project && ls", False),
        ("cd /work/project && cat notes.txt", "cd /work/project && cat note.txt", True),
        ("cat notes.txt", "touch notes.txt && cat notes.txt", True),
        ("python build.py", "python --version", False),
        ("cat notes.txt", "cat notes.txt", True),
        ("cat a.txt | wc -l", "ls | wc -l", False),
        ("pytest -q tests/test_desktop_runtime.py", "pytest -q tests/test_desktop_auth.py", False),
    ],
)
def test_a_command_is_repaired_by_one_that_runs_the_same(
    tmp_path: Path, before: str, after: str, expected: bool
) -> None:
    answer = SHELL.format(before.rsplit(maxsplit=1)[-1])
    assert repaired(tmp_path, "shell/run", {"command": before}, answer, {"command": after}) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("/w/src/main.py", "/w/src/util.py", False),
        ("/w/src/main.py", "/w/source/main.py", True),
        ("/w/report.md", "/w/reports.md", True),
        ("/w/report.md", "/w/report.md", True),
        ("/w/test_a.py", "/w/test_b.py", False),
        ("/w/unit/src", "/w/web/src", False),
    ],
)
def test_a_look_up_is_repaired_by_one_of_the_same_thing(
    tmp_path: Path, before: str, after: str, expected: bool
) -> None:
    answer = f"ENOENT: no such file or directory, open '{before}'"
    assert repaired(tmp_path, "t/read", {"path": before}, answer, {"path": after}) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"day": "2026-02-30", "guests": "two"}, {"day": "2026-03-01", "guests": "two"}, True),
        ({"day": "2026-02-30", "guests": "two"}, {"day": "2026-03-01", "guests": "seventeen"}, False),
        ({"day": 30, "guests": "two"}, {"day": "thirtieth of May", "guests": "two"}, True),
        ({"guests": "two"}, {"day": "2026-03-01", "guests": "two"}, True),
    ],
)
def test_a_refused_call_is_repaired_by_one_that_differs_in_the_fault_alone(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], expected: bool
) -> None:
    answer = f"Invalid value for day: {before.get('day', 'missing')}"
    assert repaired(tmp_path, "t/book", before, answer, after) is expected


READ_FIRST = "File has not been read yet. Read it first before writing to it."


@pytest.mark.parametrize(
    ("before", "answer", "after", "fix"),
    [
        (
            {"command": "status --detailed --json"},
            "[detailed json] cannot be set together",
            {"command": "status --detailed"},
            '"command" is without "--json"',
        ),
        (
            {"file": "src/one_visible.md", "what": "all"},
            "too long for one answer: give a limit",
            {"file": "src/one_visible.md", "what": "all", "limit": 150},
            '"limit" is given: 150',
        ),
        ({"command": "checks 18"}, "E2E Tests failed", {"command": "checks 18 | grep -E E2E"}, ""),
        ({"command": "sh tests.sh"}, "2 tests failed", {"command": "sleep 5 && sh tests.sh"}, ""),
        ({"command": "deploy", "description": "Do it"}, "no space", {"command": "deploy", "description": "Again"}, ""),
        ({"path": "a.md", "content": "one two three"}, READ_FIRST, {"path": "a.md", "content": "one two tree"}, ""),
        (
            {"day": 3, "rooms": [{"kind": "twin", "price": 255}]},
            "the amounts do not add up: the price is 305",
            {"day": 3, "rooms": [{"kind": "twin", "price": 305}]},
            '"rooms[0].price" is 305',
        ),
    ],
)
def test_a_fix_is_offered_only_for_what_the_error_speaks_of(
    tmp_path: Path, before: dict[str, Any], answer: str, after: dict[str, Any], fix: str
) -> None:
    failure = f"Error: {answer}\nCommand completed with return code: 1" if "command" in before else f"Invalid: {answer}"
    case = case_of(tmp_path, [failed("own/do", before, failure), call("own/do", after, "all is well")])
    repair = repair_of(case, "s1c1")
    assert repair is not None
    assert (repair.difference, repair.unchanged) == (fix, False)


def test_what_was_written_in_between_may_be_the_cure(tmp_path: Path) -> None:
    answer = "error: could not apply README.md\nCommand completed with return code: 1"
    rebase = failed("shell/run", {"command": "git rebase --continue"}, answer)
    again = call("shell/run", {"command": "git add README.md && git rebase --continue"}, "done")
    edit = call("files/edit_file", {"path": "README.md"}, "edited")
    assert (repair := repair_of(case_of(tmp_path, [rebase, again]), "s1c1"))
    assert repair.difference == '"command" also has "git add README.md &&"'
    (tmp_path / "edited").mkdir()
    assert (repair := repair_of(case_of(tmp_path / "edited", [rebase, edit, again]), "s1c1"))
    assert not repair.difference


def test_another_query_is_no_repair_where_it_names_another_table(tmp_path: Path) -> None:
    before = {"command": "SELECT * FROM all_scores WHERE transaction_id = 'T84'"}
    after = {"command": "SELECT * FROM all_users WHERE user_id = 'U84'"}
    assert not repaired(tmp_path, "db/query", before, "Error: Unrecognized name: transaction_id at 1:58", after)


def test_the_errors_own_advice_is_the_fix_unless_the_call_said_it(tmp_path: Path) -> None:
    def fixes(answer: str, **arguments: str) -> list[str | None]:
        directory = tmp_path / str(len(answer))
        directory.mkdir()
        case = case_of(directory, [failed("own/edit", arguments, f"Error: {answer}")])
        return [finding.suggestion for finding in findings_of_call(case, "s1c1")]

    assert fixes(READ_FIRST, file="a.md") == ["The server says: Read it first before writing to it."]
    first = 'No open pages. Use the "browser_navigate" tool to go to a page first'
    assert fixes(first, time="9") == [f"The server says: {first.removeprefix('No open pages. ')}."]
    printed = "FAIL: expected nothing. Use plain text and retry.\nCommand completed with return code: 1"
    assert fixes(printed, command="bun test") == [None]
    assert fixes("Invalid text. Use the tool for fun", text="Use the tool for fun") == [None]
    assert fixes("Invalid day: not available on 2026-05-13", day="2026-05-13")[0] is None


def test_a_failure_that_repeats_an_earlier_one_does_not_follow_from_it(tmp_path: Path) -> None:
    missing = failed("web/fetch", {"path": "/v1/audio"}, "File Not Found (/v1/audio)")
    case = case_of(tmp_path, [missing, missing])
    assert not explains(case, "s1c1", "s2c1")
