from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from replay.analysis.compare import CompareSettings, compare_models
from replay.analysis.taxonomies import TAXONOMIES, TOBENCH
from replay.errors import UsageError
from replay.records.comparison import ModelComparison
from replay.reports.compare import render
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory
from tests.scripts import script

KINDS = script("generate").KINDS
WRITE = call("fs/write_file", {"path": "/data/report.md", "content": "All is well"}, "written")
LOOK = call("fs/get_file_info", {"path": "/data/report.md"}, "size: 11")
ABSENT = failed("fs/read_file", {"path": "/x"}, "Error: ENOENT: no such file or directory, open '/x'")


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> ModelComparison:
    folder = tmp_path_factory.mktemp("runs")
    calls = {"ada-t1": [WRITE, LOOK], "ada-t2": [ABSENT, ABSENT], "bob-t1": [WRITE], "bob-t2": [ABSENT]}
    files = [
        write_trajectory(folder / f"{name}.trajectory.json", steps, model=name[:3], final_reply="Done.")
        for name, steps in calls.items()
    ]
    with Run.read(make_run(folder / "run.db", files)) as run:
        return compare_models(run, CompareSettings(by=TOBENCH))


def counts(comparison: ModelComparison) -> dict[str, dict[str, int]]:
    assert comparison.taxonomy is not None
    return {error.name: error.task_runs for error in comparison.taxonomy.classes}


def test_task_runs_are_counted_by_the_findings_that_show_each_class(comparison: ModelComparison) -> None:
    found = counts(comparison)
    assert found["Tool Planning Error"] == {"ada": 1, "bob": 0}
    assert found["Parameter Object Selection Error"] == {"ada": 1, "bob": 1}
    assert found["Pseudo-Verification"] == {"ada": 1, "bob": 0}
    assert found["No Verification"] == {"ada": 0, "bob": 1}
    assert found["Hallucinated Tool"] == {"ada": 0, "bob": 0}


def test_what_nothing_here_can_show_has_no_count_and_not_nought(comparison: ModelComparison) -> None:
    found = counts(comparison)
    assert found["Multimodal Hallucination"] == {}
    assert found["Missing Essential Tool"] == {}, "there is no reference"
    assert comparison.strata is None


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_every_report_has_the_classes_and_what_is_left_to_a_judge(comparison: ModelComparison, form: str) -> None:
    printed = render(comparison, form, 200)
    assert "Self-Verification Failure: Pseudo-Verification" in printed
    assert "Visual-Spatial Understanding" in printed
    assert "whether another tool would have been better" in printed


def test_the_table_of_commas_has_a_row_for_each_class_that_is_counted(comparison: ModelComparison) -> None:
    rows = csv.DictReader(io.StringIO(render(comparison, "csv")))
    (row,) = [row for row in rows if row["model"] == "ada" and row["stratum"] == "Pseudo-Verification"]
    assert (row["by"], row["measure"], row["value"], row["n"]) == ("tobench", "task_runs_showing_it", "1", "2")


def test_a_taxonomy_sorts_findings_and_stands_alone(tmp_path: Path) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", [WRITE])
    with Run.read(make_run(tmp_path / "run.db", [file])) as run, pytest.raises(UsageError, match="stands alone"):
        compare_models(run, CompareSettings(by="tobench,type"))


def test_the_kinds_of_every_class_are_documented() -> None:
    assert {kind for error in TAXONOMIES[TOBENCH] for kind in error.kinds} <= KINDS.keys()
