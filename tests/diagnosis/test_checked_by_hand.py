"""Findings on published runs: those that were read by hand, and how many are specific."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from replay.diagnosis import TrajectoryContext, diagnoses
from replay.formats import open_file
from replay.formats.file_names import FileNames
from replay.interpreter import Fleet
from replay.records import Outcome
from replay.replayer.classifier import classify_live, classify_stored
from replay.replayer.plan import Options, Progress
from replay.runfile import Run

CHECKED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "checked.json").read_text("utf-8"))["checked"]
Found = dict[tuple[str, str, str], tuple[Any, ...]]


def offline(directory: Path, files: list[Path], names: str | None = None) -> Run:
    async def judge(run: Run) -> None:
        opened = [open_file(file, FileNames(names)) for file in files]
        await classify_stored(run, opened, Options(offline=True), progress=Progress())

    run = Run.open(directory / "run.db")
    anyio.run(judge, run)
    return run


def primary(run: Run) -> Found:
    """(model, trajectory, call) -> the findings of each call that is not a success."""
    found: Found = {}
    for diagnosis in diagnoses(run):
        for position, row in diagnosis.context.rows.items():
            if row.outcome is not Outcome.SUCCESS:
                found[row.model, row.trajectory, position] = diagnosis.calls.get(position, ())
    run.close()
    return found


def check(name: str, found: Found) -> None:
    """Every call that was read by hand still has the finding that was found right."""
    wrong = []
    for one in (entry for entry in CHECKED if entry["set"] == name):
        place, model = (one["trajectory"], one["call"]), one.get("model")
        key = next(key for key in found if key[1:] == place and model in (None, key[0]))
        first = found[key][0]
        if (first.kind, first.pointer) != (one["kind"], one.get("pointer")):
            wrong.append((key, first.kind, first.pointer))
    assert wrong == []


def share_of_specific(found: Found) -> float:
    return sum(any(one.specific for one in findings) for findings in found.values()) / len(found)


def test_at_least_fifty_findings_were_read_by_hand() -> None:
    assert len(CHECKED) >= 50


def test_the_ten_published_toolathlon_runs_get_specific_findings_and_those_checked_stand(
    tmp_path: Path, shared_data: Path
) -> None:
    files = sorted((shared_data / "toolathlon" / "results").glob("*.json"))
    found = primary(offline(tmp_path, files, "{model}_{task}.json"))
    check("toolathlon", found)
    assert share_of_specific(found) >= 0.9


def test_findings_on_single_recorded_calls_stand_as_they_were_checked(tmp_path: Path, shared_data: Path) -> None:
    found = primary(offline(tmp_path, [shared_data / "recorded" / "recorded.jsonl"]))
    check("recorded", found)
    assert share_of_specific(found) >= 0.8


@pytest.mark.live
@pytest.mark.slow
def test_the_labelled_calls_get_specific_findings_on_the_real_servers(tmp_path: Path, shared_data: Path) -> None:
    workspace = shared_data / "labelled" / "workspace"
    servers = json.loads((shared_data / "labelled" / "fleet.json").read_text().replace('"/ws', '"${workspace}'))
    fleet = Fleet.model_validate(
        {
            "servers": {
                name: {**spec, "state": "trajectory", "effects": "sandboxed"} for name, spec in servers.items()
            },
            "defaults": {"startup_timeout": 300},
            "workspace": {"template": str(workspace), "recorded_as": ["/ws"]},
            "path": tmp_path / "servers.yaml",
        }
    )
    files = [open_file(file) for file in sorted((shared_data / "labelled" / "results").glob("*.json"))]

    async def judge(run: Run) -> None:
        await classify_live(run, files, fleet, Options(), logs=tmp_path / "logs", progress=Progress())

    run = Run.open(tmp_path / "run.db")
    anyio.run(judge, run)
    found = primary(run)
    check("labelled", found)
    assert share_of_specific(found) >= 0.9


def test_a_case_can_be_read_after_its_run_was_closed(tmp_path: Path, shared_data: Path) -> None:
    run = offline(tmp_path, [shared_data / "recorded" / "recorded.jsonl"])
    case: TrajectoryContext = next(iter(diagnoses(run))).context
    run.close()
    assert case.graph.depth == 1
