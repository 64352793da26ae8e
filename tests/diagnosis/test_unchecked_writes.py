"""What was written and never looked at, identifiers from nowhere, and what of the reference was never called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.alignment import AlignmentSettings, Reference, Results, sign, signatures_to_embed
from replay.alignment import align as align_one
from replay.alignment.judges import Judges
from replay.alignment.output import RunStore
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


def unchecked(directory: Path, calls: list[Step], **fields: Any) -> list[Finding]:
    found = findings_of_trajectory(case_of(directory, calls, **(REPLY | fields)))
    return [finding for finding in found if finding.kind == "written-not-checked"]


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


def test_only_the_last_write_of_a_file_counts(tmp_path: Path) -> None:
    read = call("fs/read_file", {"path": "/data/out/report.md"})
    assert len(unchecked(tmp_path, [WRITE, read, WRITE])) == 1


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
    aligned = align_one(reference, ours, vectors(signatures_to_embed(reference, [ours])), AlignmentSettings(), Judges())
    RunStore(path).save([aligned], reference)
    with Run.open(path) as run:
        assert FindingStore(run).keep_missing() == 1
        counts = {row.kind: row.n for row in finding_counts(run.connection)}
        vocabulary = read_vocabulary(run.connection)
    assert counts["reference-tool-unused"] == counts["wrong-tool-of-server"] == 1
    assert "wrong-tool-of-server" in vocabulary.findings
