"""The screen with the audit: its numbers lead to their tasks, and the tasks to their calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from replay.runfile import Run
from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun
from replay_tui.screens.audit_screen import AuditScreen, MendsTable
from replay_tui.screens.trajectory_screen import TrajectoryScreen
from replay_tui.widgets.text_page import TextPage
from tests.runs import call, failed, make_run, write_trajectory
from tests.tui.conftest import Browsing, press, screen_text
from tests.tui.test_snapshots import walk

TIMED_OUT = "Error: request timed out after 30 seconds"
QUESTION = "What does report.csv say of turnover?"


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("audited")
    lost = [call("files/list", {}, "report.csv"), failed("files/read", {"path": "/data/report.csv"}, TIMED_OUT)]
    won = [call("files/read", {"path": "/data/report.csv"}, "turnover,12.5")]
    recovered = [*lost[1:], *won]
    files = [
        write_trajectory(
            directory / f"{model}_{name}.trajectory.json",
            calls,
            model=model,
            task={"id": name, "question": QUESTION},
            final_reply="It was 12.5.",
            reported={"passed": passed},
        )
        for model, name, calls, passed in [
            ("ada", "sales", lost, False),
            ("ada", "costs", won, True),
            ("bob", "sales", recovered, True),
            ("bob", "costs", won[:0] + lost[:1], False),
        ]
    ]
    return make_run(directory / "audited.db", files)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_audit_screen(size: tuple[int, int], audited: Path, snap_compare: Callable[..., bool]) -> None:
    open_run = OpenRun(audited)
    try:
        keys = ("7", "right", "right", "right")
        assert snap_compare(BrowseApp(open_run), terminal_size=size, run_before=partial(walk, keys))
    finally:
        open_run.close()


@pytest.mark.anyio
async def test_a_number_leads_to_its_tasks_and_a_task_to_the_call_that_failed(browse: Browsing, audited: Path) -> None:
    async with browse(audited) as pilot:
        await press(pilot, "7")
        screen = cast("AuditScreen", pilot.app.screen)
        assert [run.task for run in screen.runs.records] == ["sales", "costs"]
        await press(pilot, "right", "right", "right")
        assert [(run.task, run.doubt) for run in screen.runs.records] == [("sales", "environment")]
        assert "no other call got it" in screen.query_one(TextPage).text
        await press(pilot, "down", "left")
        assert [(run.model, run.task) for run in screen.runs.records] == [("bob", "costs")], "lost by the model"
        await press(pilot, "down", "right", "enter", "enter")
        assert isinstance(pilot.app.screen, TrajectoryScreen)
        selected = pilot.app.screen.selected_call()
        assert selected is not None
        assert selected[1] == "s2c1"


@pytest.mark.anyio
async def test_what_to_mend_leads_to_the_tasks_that_it_would_settle(browse: Browsing, audited: Path) -> None:
    async with browse(audited) as pilot:
        await press(pilot, "7", "m")
        screen = cast("AuditScreen", pilot.app.screen)
        assert [(mend.name, mend.settles) for mend in screen.query_one(MendsTable).records] == [("files", 1)]
        assert [run.task for run in screen.runs.records] == ["sales"]


@pytest.mark.anyio
async def test_hostile_names_and_a_run_without_calls_are_audited_as_text(
    browse: Browsing, hostile: Path, tmp_path: Path
) -> None:
    async with browse(hostile, (60, 16)) as pilot:
        await press(pilot, "7", "right", "enter", "enter")
        assert "\x1b" not in screen_text(pilot)
    with Run.open(tmp_path / "empty.db"):
        pass
    async with browse(tmp_path / "empty.db") as pilot:
        await press(pilot, "7", "right", "enter", "m", "enter")
        assert "nothing to audit" in screen_text(pilot)
