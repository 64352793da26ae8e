"""What the calls of a trajectory, and those of a run, show together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from replay.alignment.tasks import Reference, read_reference
from replay.diagnosis import Diagnosed, RunTally, diagnoses, findings_of_trajectory
from replay.diagnosis.environment import environment_finding
from replay.formats import open_file
from replay.records import Reason
from replay.records.finding import Finding
from replay.runfile import Run
from tests.runs import call, case_of, failed, make_run, schema, server, write_trajectory

FILES = server("files", read=schema("path"), write=schema("path", "text"))
MISSING = "ENOENT: no such file or directory, open '/w/a.txt'"


def told(directory: Path, *calls: dict[str, Any], **fields: Any) -> dict[str, str]:
    return {one.kind: one.sentence for one in findings_of_trajectory(case_of(directory, calls, FILES, **fields))}


def findings_of_run(
    run: Run, calls: Iterable[Diagnosed] | None = None, reference: Reference | None = None
) -> tuple[Finding, ...]:
    tally = RunTally()
    for one in diagnosed_calls(run) if calls is None else calls:
        tally.add(one)
    return tally.findings(run, reference)


def diagnosed_calls(run: Run) -> Iterator[Diagnosed]:
    return (one for diagnosis in diagnoses(run) for one in diagnosis.compact())


def test_the_same_failing_call_repeated_unchanged_is_found(tmp_path: Path) -> None:
    again = failed("files/read", {"path": "/w/a.txt"}, MISSING)
    found = told(tmp_path, again, call("files/read", {"path": "/w/b"}, "x"), again, again)
    assert found["repeated-failure"] == (
        'The same call to "files/read" failed 3 times, unchanged: s1c1, s3c1 and s4c1.'
    )


def test_a_read_asked_twice_with_the_same_answer_is_found(tmp_path: Path) -> None:
    same = call("files/read", {"path": "/w/b"}, "the text")
    assert "twice" in told(tmp_path, same, same)["repeated-call"]


def test_writes_and_reads_with_other_answers_are_not_called_repeated(tmp_path: Path) -> None:
    write = call("files/write", {"path": "/w/b", "text": "x"}, "written")
    found = told(
        tmp_path, write, write, call("files/read", {"path": "/w/b"}, "1"), call("files/read", {"path": "/w/b"}, "2")
    )
    assert "repeated-call" not in found


def test_a_repair_is_found_with_the_number_of_calls_it_took(tmp_path: Path) -> None:
    found = told(
        tmp_path,
        failed("files/read", {"path": "/w/a.txt"}, MISSING),
        call("files/write", {"path": "/w/other", "text": "x"}, "written"),
        call("files/read", {"path": "/w/sub/a.txt"}, "text"),
    )
    assert "was repaired 2 calls later by s3c1" in found["repaired"]


def test_a_reply_after_nothing_but_failures_is_found(tmp_path: Path) -> None:
    found = told(tmp_path, failed("files/read", {"path": "/w/a.txt"}, MISSING), final_reply="The file says 42.")
    assert found["unsupported-reply"] == "The final reply rests on no successful call: the only call failed."


def test_a_reply_is_not_accused_where_a_call_succeeded_or_could_not_be_judged(tmp_path: Path) -> None:
    missing = failed("files/read", {"path": "/w/a.txt"}, MISSING)
    (tmp_path / "a").mkdir()
    assert "unsupported-reply" not in told(tmp_path / "a", missing, call("files/read", {"path": "b"}), final_reply="x")
    (tmp_path / "b").mkdir()
    assert "unsupported-reply" not in told(
        tmp_path / "b", missing, call("files/read", {"path": "b"}, None), final_reply="x"
    )


def test_a_root_cause_is_named_with_what_followed(tmp_path: Path) -> None:
    book = server("excel", create_workbook=schema("filepath"), read_data=schema("filepath"))
    lost = "Error: File not found: /w/sales.xlsx"
    calls = [
        failed("excel/create_workbook", {}, "Input validation error: 'filepath' is a required property"),
        failed("excel/read_data", {"filepath": "/w/sales.xlsx"}, lost),
    ]
    found = {one.kind: one.sentence for one in findings_of_trajectory(case_of(tmp_path, calls, book))}
    assert found["root-cause"] == (
        's1c1 ("excel/create_workbook") was judged invalid arguments, and 1 later failure follows from it: s2c1.'
    )


def test_what_was_there_already_is_not_made_the_cause_of_a_later_failure(tmp_path: Path) -> None:
    book = server("excel", create_workbook=schema("path"), read_range=schema("path", "sheet"))
    calls = [
        failed("excel/create_workbook", {"path": "/w/b.xlsx"}, "/w/b.xlsx already exists"),
        failed("excel/read_range", {"path": "/w/b.xlsx", "sheet": "Ghost"}, "Sheet 'Ghost' not found."),
    ]
    assert findings_of_trajectory(case_of(tmp_path, calls, book)) == ()


def test_the_worst_tool_and_server_are_named_with_their_commonest_cause(tmp_path: Path) -> None:
    calls = [failed("files/read", {}, "Input validation error"), failed("files/read", {"path": "/w/a.txt"}, MISSING)]
    file = write_trajectory(tmp_path / "t.trajectory.json", [*calls, failed("files/read", {"path": 5}, "no")] * 2)
    with Run.read(make_run(tmp_path / "run.db", [file], FILES)) as run:
        found = {one.kind: one for one in findings_of_run(run)}
    assert found["failing-tool"].sentence.startswith('Tool "files/read" failed in 6 of 6 calls; most often (2)')
    assert found["failing-server"].details["failed"] == 6


def test_a_name_that_is_no_server_is_not_the_worst_server(tmp_path: Path) -> None:
    calls = [call("server/tool", {}, None)] * 3 + [failed("files/read", {"path": "/w/a.txt"}, MISSING)] * 2
    file = write_trajectory(tmp_path / "t.trajectory.json", calls)
    with Run.read(make_run(tmp_path / "run.db", [file])) as run:
        found = {one.kind: one for one in findings_of_run(run)}
    assert found["failing-server"].sentence.startswith('Server "files" failed in 2 of 2')


def test_failures_that_follow_from_another_do_not_count_against_the_server(tmp_path: Path) -> None:
    calls = [failed("files/read", {"path": "/w/a.txt"}, MISSING)] * 3
    file = write_trajectory(tmp_path / "t.trajectory.json", calls)
    with Run.read(make_run(tmp_path / "run.db", [file], FILES)) as run:
        known = list(diagnosed_calls(run))
        followed = replace(known[2], row=known[2].row.model_copy(update={"caused_by": "s1c1"}))
        found = {one.kind: one for one in findings_of_run(run, [*known[:2], followed])}
    assert found["failing-server"].details["failed"] == 2


@pytest.mark.parametrize(
    ("gap", "happened", "suggestion"),
    [
        ({"outcome": "inconclusive", "reason": "timeout", "rule": "fault.timeout"}, "timed out", "call_timeout"),
        (
            {"outcome": "inconclusive", "reason": "server-unavailable"},
            "(its server did not start)",
            "replay servers check files",
        ),
        ({"outcome": "inconclusive", "reason": "withheld"}, "was not re-issued", "--allow-effects files"),
        ({"outcome": "success", "findings": ("withheld",)}, "was not re-issued", "--allow-effects files"),
        ({"outcome": "inconclusive", "reason": "not-in-fleet"}, "not in the fleet", "Add its server to the fleet file"),
        ({"outcome": "success", "divergence": "environment"}, "did not happen again as recorded", "Look at"),
    ],
)
def test_a_state_gap_says_what_became_of_the_call_before(
    tmp_path: Path, gap: dict[str, Any], happened: str, suggestion: str
) -> None:
    write = call("files/write", {"path": "/w/b", "text": "x"}, "written")
    case = case_of(tmp_path, [write, failed("files/read", {"path": "/w/b"}, MISSING)], FILES)
    behind = {"outcome": "inconclusive", "reason": "state-gap", "rule": "replay.state-gap", "gap": "s1c1"}
    rows = {
        position: type(row).model_validate(row.model_dump() | (gap if position == "s1c1" else behind))
        for position, row in case.rows.items()
    }
    finding = environment_finding(replace(case, rows=rows), "s2c1", Reason.STATE_GAP)
    assert happened in finding.sentence
    assert suggestion in (finding.suggestion or "")


def test_a_tool_whose_server_takes_what_its_schema_forbids_is_named(tmp_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("files/read", {"path": 5}, "text")])
    with Run.read(make_run(tmp_path / "run.db", [file], FILES)) as run:
        found = {one.kind: one.sentence for one in findings_of_run(run)}
    assert 'Tool "files/read" took arguments that break its inputSchema in 1 call' in found["schema-too-strict"]


def test_the_faults_of_the_reference_are_named_but_not_those_of_servers_nobody_knows(tmp_path: Path) -> None:
    wrong = [call("files/read", {}, None), call("files/nope", {"path": "a"}, None), call("maps/route", {}, None)]
    reference = write_trajectory(tmp_path / "reference.trajectory.json", wrong)
    file = write_trajectory(tmp_path / "t.trajectory.json", [call("files/read", {"path": "a"}, "text")])
    with Run.read(make_run(tmp_path / "run.db", [file], FILES)) as run:
        known = read_reference(open_file(reference), run.servers())
        found = [one.sentence for one in findings_of_run(run, reference=known) if one.kind == "reference-fault"]
    assert len(found) == 2
    assert any("reference:s1c1 (files/read)" in one for one in found)
    assert any("1 call that would be judged unknown tool, as in reference:s2c1" in one for one in found)
