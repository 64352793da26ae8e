"""A later success is a repair only where it asks for what the failed call asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.diagnosis.repairs import repair_of
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
