"""The screen with all models side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from replay.runfile import Run
from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun
from replay_tui.screens.calls_screen import CallsScreen
from replay_tui.screens.models_screen import ModelsScreen
from replay_tui.widgets.text_page import TextPage
from tests.runs import call, failed, make_run, write_trajectory
from tests.tui.conftest import Browsing, press, screen_text
from tests.tui.test_snapshots import walk

PICTURES = {"models": ((80, 24), ("6",)), "strata": ((120, 40), ("6", "i"))}


@pytest.mark.parametrize("name", PICTURES)
def test_models_screen(name: str, sample: Path, snap_compare: Callable[..., bool]) -> None:
    size, keys = PICTURES[name]
    open_run = OpenRun(sample)
    try:
        assert snap_compare(BrowseApp(open_run), terminal_size=size, run_before=partial(walk, keys))
    finally:
        open_run.close()


@pytest.mark.anyio
async def test_models_are_sorted_by_any_measure_divided_into_strata_and_lead_to_their_calls(
    browse: Browsing, sample: Path
) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "6")
        screen = cast("ModelsScreen", pilot.app.screen)
        assert (screen.table.order, screen.table.row_count()) == ("well_formed", 2)
        assert "well formed ▼" in screen_text(pilot)
        best = screen.table.selected
        await press(pilot, "S")
        assert screen.table.selected == best, "the cursor stays on its model"
        assert screen.table.cursor == 1
        await press(pilot, "s")
        assert screen.table.order == "illegal_format"
        assert "Figures" in screen.query_one(TextPage).text
        await press(pilot, "i")
        assert "office" in screen_text(pilot)
        await press(pilot, "I", "enter")
        assert isinstance(pilot.app.screen, CallsScreen)
        assert best is not None
        assert pilot.app.filter.text == f"model:{best.model}"  # type: ignore[attr-defined]


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["6", "7"], ids=["models", "audit"])
async def test_without_scipy_the_screen_of_many_tasks_says_what_to_install(
    browse: Browsing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    files = [
        write_trajectory(
            tmp_path / f"{model}_{number}.trajectory.json",
            [call("files/list", {}, "a.csv"), *([failed("files/read", {}, "Error: timed out")] * (number % 3))],
            model=model,
            task={"id": f"t{number}"},
            reported={"passed": model == "ada" or number % 2 == 0},
        )
        for model in ("ada", "bob")
        for number in range(14)
    ]
    run = make_run(tmp_path / "many.db", files)
    monkeypatch.setitem(sys.modules, "scipy", None)
    async with browse(run) as pilot:
        await press(pilot, key)
        told = [note.message for note in pilot.app._notifications]
        assert "[stats]" in "\n".join([screen_text(pilot), *told])


@pytest.mark.anyio
async def test_hostile_names_and_a_run_without_calls_are_shown_as_text(
    browse: Browsing, hostile: Path, tmp_path: Path
) -> None:
    async with browse(hostile, (60, 16)) as pilot:
        await press(pilot, "6", "i", "i", "i", "i", "s")
        assert "\x1b" not in screen_text(pilot)
    with Run.open(tmp_path / "empty.db"):
        pass
    async with browse(tmp_path / "empty.db") as pilot:
        await press(pilot, "6", "s", "i", "S", "enter")
        assert "no models yet" in screen_text(pilot)
