"""What was written and never looked at, identifiers from nowhere, and what of the reference was never called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.alignment.aligner import AlignmentSettings, Results, align_model, signatures_to_embed
from replay.alignment.judges import Judges
from replay.alignment.output import RunStore
from replay.alignment.tasks import Reference, sign
from replay.diagnosis import findings_of_call, findings_of_trajectory
from replay.diagnosis.diagnose import FindingStore
from replay.formats import open_file
from replay.records.finding import Finding
from replay.runfile import Run
from replay.runfile.filters import read_vocabulary
from replay.runfile.task_runs import finding_counts
from tests.alignment.builders import vectors
from tests.runs import Step, call, case_of, failed, make_run, write_trajectory

WRITE = call("fs/write_file", {"path": "/data/out/report.md", "content": "All is well"}, "written")
REPLY = {"final_reply": "Done."}


KINDS = ("written-not-checked", "pseudo-verification", "incomplete-verification")


def verification(directory: Path, calls: list[Step], **fields: Any) -> list[Finding]:
    """What is found of the reading back of writes, of whatever kind."""
    found = findings_of_trajectory(case_of(directory, calls, **(REPLY | fields)))
    return [finding for finding in found if finding.kind in KINDS]


def unchecked(directory: Path, calls: list[Step], **fields: Any) -> list[Finding]:
    return [one for one in verification(directory, calls, **fields) if one.kind == "written-not-checked"]


def test_a_file_that_is_written_and_not_read_back_is_told(tmp_path: Path) -> None:
    (found,) = unchecked(tmp_path, [WRITE, call("fs/list_directory", {"path": "/data/out"})])
    assert '"/data/out/report.md" was written and not read back' in found.sentence
    assert found.certainty == "likely"


@pytest.mark.parametrize(
    "check",
    [
        call("fs/read_file", {"path": "/data/out/report.md"}),
        call("shell/run", {"command": "wc -l out/report.md"}),
        call("python/execute", {"code": "import os\nfor root, _, names in os.walk('/data/out'): print(open(names))"}),
    ],
    ids=["read", "named in a command", "a program that walks the directory"],
)
def test_a_later_call_that_may_have_looked_at_it_closes_the_loop(tmp_path: Path, check: Step) -> None:
    assert unchecked(tmp_path, [WRITE, check]) == []


@pytest.mark.parametrize(
    "check",
    [
        failed("fs/read_file", {"path": "/data/out/report.md"}, "Error: ENOENT: no such file"),
        call("shell/run", {"command": "ls /data/out"}),
        call("shell/run", {"command": "cat /data/out2/else.md"}),
    ],
    ids=["failed", "lists names", "another directory"],
)
def test_what_shows_nothing_of_it_does_not(tmp_path: Path, check: Step) -> None:
    assert len(unchecked(tmp_path, [WRITE, check])) == 1


@pytest.mark.parametrize(
    "look",
    [
        call("fs/get_file_info", {"path": "/data/out/report.md"}, "size: 11"),
        call("fs/getFileInfo", {"path": "/data/out/report.md"}, "size: 11"),
        call("office/file_exists", {"filename": "report.md"}, "true"),
        call("fs/list_directory", {"path": "/data/out"}, "[FILE] report.md"),
        call("shell/run", {"command": "ls -la /data/out"}, "-rw-r--r-- 1 me 11 report.md"),
        call("shell/run", {"command": "stat /data/out/report.md"}, "Size: 11"),
        call("shell/run", {"command": "test -f /data/out/report.md"}, "exit code 0"),
    ],
)
def test_a_look_at_its_existence_or_metadata_alone_is_pseudo_verification(tmp_path: Path, look: Step) -> None:
    (found,) = verification(tmp_path, [WRITE, look])
    assert found.kind == "pseudo-verification"
    assert "only its existence or metadata was looked at after it was written" in found.sentence
    assert [ref.call for ref in found.calls] == ["s1c1"]


@pytest.mark.parametrize(
    "look",
    [
        call("fs/get_file_info", {"path": "/data/out/report.md"}, "size: 11, begins with: All is well"),
        call("shell/run", {"command": "ls /data/out && cat /data/out/report.md"}, "report.md"),
        call("docs/read_information", {"path": "/data/out/report.md"}, "one paragraph"),
    ],
    ids=["shows what was written", "lists and reads", "no tool for metadata"],
)
def test_a_look_that_may_have_seen_the_content_is_a_check(tmp_path: Path, look: Step) -> None:
    assert verification(tmp_path, [WRITE, look]) == []


def test_existence_and_then_content_is_a_check(tmp_path: Path) -> None:
    looks = [call("fs/get_file_info", {"path": "/data/out/report.md"}), call("fs/read_file", {"path": "out/report.md"})]
    assert verification(tmp_path, [WRITE, *looks]) == []


def test_what_is_read_back_and_then_written_again_is_verified_incompletely(tmp_path: Path) -> None:
    read = call("fs/read_file", {"path": "/data/out/report.md"})
    (found,) = verification(tmp_path, [WRITE, read, WRITE])
    assert found.kind == "incomplete-verification"
    assert "read back after an earlier write, and not after the last one" in found.sentence
    assert [ref.call for ref in found.calls] == ["s3c1"]
    assert verification(tmp_path, [WRITE, read, WRITE, read]) == []


def test_a_call_between_two_writes_that_may_have_changed_it_was_no_reading(tmp_path: Path) -> None:
    between = call("office/highlight_header", {"path": "/data/out/report.md"})
    (found,) = verification(tmp_path, [WRITE, between, WRITE])
    assert found.kind == "written-not-checked"


def test_what_was_written_twice_and_never_read_back_is_not_verified_at_all(tmp_path: Path) -> None:
    (found,) = verification(tmp_path, [WRITE, WRITE])
    assert found.kind == "written-not-checked"


def test_each_file_has_the_kind_of_its_own_reading(tmp_path: Path) -> None:
    other = call("fs/write_file", {"path": "/data/out/notes.md", "content": "Nothing else"}, "written")
    found = verification(tmp_path, [WRITE, other, call("fs/get_file_info", {"path": "/data/out/notes.md"}, "size: 12")])
    assert {one.kind: [ref.call for ref in one.calls] for one in found} == {
        "written-not-checked": ["s1c1"],
        "pseudo-verification": ["s2c1"],
    }


def test_an_answer_that_shows_what_was_written_is_a_check(tmp_path: Path) -> None:
    text = "# Report\nThe first line and the second one"
    assert unchecked(tmp_path, [call("fs/edit_file", {"path": "/a/b.md", "text": text}, f"now reads:\n{text}")]) == []


def test_a_recording_that_may_be_cut_off_a_directory_and_a_failed_write_are_left_alone(tmp_path: Path) -> None:
    assert unchecked(tmp_path, [WRITE], final_reply=None) == []
    made = call("fs/create_directory", {"path": "/data/v1.x"})
    assert unchecked(tmp_path, [made, failed("fs/write_file", {"path": "/x/y.md"}, "Error: access denied")]) == []


def invented(directory: Path, arguments: dict[str, Any], *before: Step) -> list[str]:
    case = case_of(directory, [*before, call("shop/order", arguments)], question="Order one.")
    return [
        one.sentence for one in findings_of_call(case, f"s{len(before) + 1}c1") if one.kind == "invented-identifier"
    ]


def test_an_opaque_identifier_from_nowhere_is_told(tmp_path: Path) -> None:
    (sentence,) = invented(tmp_path, {"product_id": "B07XQ93K2D"})
    assert '"product_id" is "B07XQ93K2D"' in sentence


@pytest.mark.parametrize(
    "arguments",
    [
        {"product_id": "winter_sale_2024"},
        {"product_id": "12345678"},
        {"query": "B07XQ93K2D"},
        {"path": "B07XQ93K2D"},
        {"session_id": "report-a1b2"},
    ],
)
def test_a_value_that_may_be_made_up_or_known_is_left_alone(tmp_path: Path, arguments: dict[str, Any]) -> None:
    assert invented(tmp_path, arguments) == []


def test_an_identifier_that_an_earlier_answer_held_is_left_alone(tmp_path: Path) -> None:
    assert invented(tmp_path, {"product_id": "B07XQ93K2D"}, call("shop/find", {}, "found b07xq93k2d")) == []


def test_an_identifier_is_left_alone_where_an_earlier_answer_is_not_known(tmp_path: Path) -> None:
    assert invented(tmp_path, {"product_id": "B07XQ93K2D"}, call("shop/find", {}, None)) == []


def test_a_tool_of_the_reference_that_was_never_called_and_the_one_called_instead(tmp_path: Path) -> None:
    (tmp_path / "ref").mkdir()
    wanted = write_trajectory(
        tmp_path / "ref" / "t.trajectory.json",
        [call("shop/search", {"q": "tea"}), call("shop/price", {"id": "1"}), call("web/page", {"url": "u"})],
    )
    done = write_trajectory(
        tmp_path / "t.trajectory.json", [call("shop/search", {"q": "tea"}), call("shop/stock", {"id": "1"})]
    )
    path = make_run(tmp_path / "run.db", [done])
    opened, results = open_file(wanted), open_file(done)
    reference = Reference(opened.path, {one.id: sign(one) for one in opened.trajectories()}, ())
    ours = Results(results.path, results.model, {one.id: sign(one) for one in results.trajectories()})
    aligned = align_model(
        reference, ours, vectors(signatures_to_embed(reference, [ours])), AlignmentSettings(), Judges()
    )
    RunStore(path).save([aligned], reference)
    with Run.open(path) as run:
        assert FindingStore(run).keep_missing() == 1
        counts = {row.kind: row.n for row in finding_counts(run.connection)}
        vocabulary = read_vocabulary(run.connection)
    assert counts["reference-tool-unused"] == counts["wrong-tool-of-server"] == 1
    assert "wrong-tool-of-server" in vocabulary.findings
