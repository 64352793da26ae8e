"""What cannot be loaded here charges none of the calls that are about it, and what to set is said before the run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.runfile import Run, call_rows

Replay = Callable[..., subprocess.CompletedProcess[str]]
DECK = "/recorded/decks/plan.pptx"


@pytest.fixture
def results(results_file: Callable[..., Path]) -> Path:
    return results_file(
        t=[
            [("slides/open_presentation", {"path": DECK}, '{"slides": 2}')],
            [("slides/add_slide", {"title": "New"}, '{"slides": 3}')],
            [("slides/read_slide", {"number": "1"}, "Aims")],
            [("slides/read_slide", {"number": "0"})],
            [("slides/open_presentation", {"path": "/recorded/decks/gone.pptx"}, "Error: no such file: gone.pptx")],
        ]
    )


def outcomes(tmp_path: Path) -> dict[str, tuple[str, str | None]]:
    with Run.read(tmp_path / "replay-run.db") as run:
        return {row.call: (str(row.outcome), row.gap) for row in call_rows(run)}


@pytest.mark.parametrize("annotation", ["", " reads"])
def test_calls_about_what_could_not_be_loaded_stand_behind_a_gap(
    tmp_path: Path, replay: Replay, results: Path, fleet_file: Callable[..., Path], annotation: str
) -> None:
    fleet_file(slides={"script": f"slides.py{annotation}", "effects": "sandboxed", "state": "trajectory"})
    done = replay("classify", results)
    assert outcomes(tmp_path) == {
        "s1c1": ("success", None),
        "s2c1": ("success", "s1c1"),
        "s3c1": ("success", "s1c1"),
        "s4c1": ("inconclusive", "s1c1"),
        "s5c1": ("not_found", "s1c1"),
    }, done.stderr


@pytest.mark.parametrize(
    ("workspace", "state", "said"),
    [
        (None, "trajectory", True),
        ({"recorded_as": ["/recorded/decks"]}, "trajectory", False),
        ({"recorded_as": ["/recorded/other"]}, "trajectory", True),
        (None, "none", False),
    ],
)
def test_paths_that_are_nowhere_are_told_before_the_run_with_the_lines_to_add(
    replay: Replay,
    results: Path,
    fleet_file: Callable[..., Path],
    workspace: dict[str, Any] | None,
    state: str,
    said: bool,
) -> None:
    fleet_file(slides={"script": "slides.py", "effects": "sandboxed", "state": state}, workspace=workspace)
    done = replay("classify", results)
    assert ("2 paths in the calls lie in directories that are not here" in done.stderr) is said
    assert ("  workspace:\n    template: " in done.stderr) is said
    assert ("recorded_as: [/recorded/decks]\n" in done.stderr) is (said and workspace is None)


def test_a_path_whose_directory_is_here_is_no_reason_for_a_note(
    tmp_path: Path, replay: Replay, results_file: Callable[..., Path], fleet_file: Callable[..., Path]
) -> None:
    deck = tmp_path / "plan.pptx"
    deck.write_text("One\nTwo\n")
    fleet_file(slides={"script": "slides.py", "effects": "all", "state": "trajectory"})
    calls = [[("slides/open_presentation", {"path": str(deck)}, '{"slides": 2}')]] * 3
    assert "are not here" not in replay("classify", results_file(t=calls)).stderr
