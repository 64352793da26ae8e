"""Sheets and records that were written and never looked at again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.test_unchecked_writes import unchecked
from tests.runs import Step, call, failed

FIND = call("desk/search_issues", {"query": "printer"}, "[]")
UPDATE = call("desk/update_issue", {"issue_number": 12, "title": "The printer is on fire"}, "ok")
CREATE = call("desk/create_issue", {"title": "The printer is on fire"}, '{"number": 12, "state": "open"}')
OPAQUE = call("desk/create_page", {"text": "All that is known of it"}, '{"page": {"id": "438a134b-7cde"}}')
SHEET = call("excel/write_cells", {"filename": "a/book.xlsx", "sheet_name": "Sums", "range": "A1"}, "written")


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (UPDATE, "issue_number 12 was written"),
        (CREATE, "number 12 was written"),
        (OPAQUE, "id 438a134b-7cde was written"),
        (SHEET, 'sheet "Sums" of "a/book.xlsx" was written'),
    ],
    ids=["update", "create", "create with an opaque id", "sheet"],
)
def test_a_record_or_a_sheet_that_is_written_and_not_read_back_is_told(tmp_path: Path, write: Step, words: str) -> None:
    (found,) = unchecked(tmp_path, [FIND, write])
    assert words in found.sentence


@pytest.mark.parametrize(
    ("write", "check"),
    [
        (UPDATE, call("desk/get_issue", {"issue_number": 12}, "{}")),
        (CREATE, call("desk/get_issue", {"issue_number": 12}, "{}")),
        (CREATE, call("desk/list_issues", {"state": "open"}, '[{"title": "The printer is on fire"}]')),
        (OPAQUE, call("web/fetch", {"url": "https://desk.example/438a134b-7cde"}, "a page")),
        (OPAQUE, call("desk/list_pages", {"max": 5}, '["438a134b-7cde"]')),
        (SHEET, call("excel/read_cells", {"filename": "a/book.xlsx", "sheet_name": "Sums"}, "1 2 3")),
        (SHEET, call("excel/read_workbook", {"filename": "a/book.xlsx"}, "1 2 3")),
    ],
)
def test_a_later_look_at_it_closes_the_loop(tmp_path: Path, write: Step, check: Step) -> None:
    assert unchecked(tmp_path, [FIND, write, check]) == []


@pytest.mark.parametrize(
    ("write", "other"),
    [
        (UPDATE, call("desk/get_issue", {"issue_number": 13}, "{}")),
        (UPDATE, call("desk/get_user", {"level": 12}, "{}")),
        (UPDATE, failed("desk/get_issue", {"issue_number": 12}, "Error: 404 not found")),
        (SHEET, call("excel/read_cells", {"filename": "a/book.xlsx", "sheet_name": "Raw"}, "1 2 3")),
    ],
    ids=["another record", "another number", "failed", "another sheet"],
)
def test_a_look_at_something_else_does_not(tmp_path: Path, write: Step, other: Step) -> None:
    assert len(unchecked(tmp_path, [FIND, write, other])) == 1


@pytest.mark.parametrize(
    "calls",
    [
        [FIND, call("desk/update_issue", {"id": 12, "title": "The printer is on fire"}, "The printer is on fire")],
        [FIND, call("desk/update_issue", {"id": 12, "open": False}, "ok")],
        [FIND, call("desk/create_issue", {"title": "The printer is on fire"}, "created")],
        [UPDATE],
        [FIND, failed("desk/update_issue", {"id": 12, "title": "The printer is on fire"}, "Error: forbidden")],
    ],
    ids=["the answer shows it", "nothing to show", "no identifier", "nothing was ever read there", "failed"],
)
def test_what_is_shown_unclear_or_cannot_be_read_back_is_left_alone(tmp_path: Path, calls: list[Step]) -> None:
    assert unchecked(tmp_path, calls) == []
