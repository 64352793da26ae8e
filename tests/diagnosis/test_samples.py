"""Every planted fault of the sample traces is named, with its fix."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from replay.diagnosis import diagnoses
from replay.formats import open_file
from replay.interpreter import Fleet
from replay.records.finding import Finding
from replay.replayer.classifier import classify_live
from replay.replayer.plan import Options, Progress
from replay.runfile import Run

ROOT = Path(__file__).parents[2]
Told = dict[str, tuple[Finding, ...]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """`TRAJECTORY:CALL` -> findings; `TRAJECTORY` -> those of the whole."""
    directory = tmp_path_factory.mktemp("samples")

    async def judge(run: Run) -> None:
        files = [open_file(file) for file in sorted(ROOT.glob("traces/*.json"))]
        fleet = Fleet.load(ROOT / "servers.yaml")
        await classify_live(run, files, fleet, Options(), logs=directory / "logs", progress=Progress())

    found: Told = {}
    with Run.open(directory / "run.db") as run:
        anyio.run(judge, run)
        for diagnosis in diagnoses(run):
            name = diagnosis.context.trajectory.id
            found[name] = diagnosis.together
            found |= {f"{name}:{position}": findings for position, findings in diagnosis.calls.items()}
    return found


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "kind", "fix"),
    [
        ("movie-poster:s1c1", "no-such-tool", "Servers of the fleet:"),
        ("movie-poster:s2c1", "no-such-tool", "Servers of the fleet:"),
        ("movie-poster:s3c1", "placeholder-tool", "Servers of the fleet:"),
        (
            "sales-report:s1c1",
            "missing-field",
            'Add "filepath" (string); s2c1 has "/workspace/march-sales.xlsx" there.',
        ),
        ("sales-report:s2c1", "follows-from", "Look at s1c1 first."),
        ("sales-report:s3c1", "follows-from", "Look at s1c1 first."),
        ("sales-report:s3c2", "follows-from", "Look at s1c1 first."),
        ("sales-report", "root-cause", "Put s1c1 right; the others may be right as they are."),
        ("tokyo-time:s1c1", "wrapped-call", "Write the bare JSON, without the delimiters around it"),
        ("shop-stock:s3c2", "invented-value", "List what there is first"),
        ("rain-in-bergen:s1c1", "server-did-not-start", "replay servers"),
    ],
)
def test_a_planted_fault_is_named_with_its_fix(told: Told, place: str, kind: str, fix: str) -> None:
    suggestions = {finding.kind: str(finding.suggestion) for finding in told[place]}
    assert fix in suggestions[kind]


@pytest.mark.live
@pytest.mark.slow
def test_clean_samples_have_no_finding_about_a_fault(told: Told) -> None:
    clean = ("trip-budget", "meeting-times")
    kinds = {one.kind for place, found in told.items() for one in found if place.partition(":")[0] in clean}
    assert kinds <= {"rebound", "outcome-moved", "empty-answer"}
