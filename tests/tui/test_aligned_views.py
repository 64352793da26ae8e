"""The screens of a run that has an alignment: how they look, and how a task goes from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from textual.command import CommandList
from textual.widgets import Input, OptionList

from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun
from replay_tui.screens.alignment_screen import AlignmentScreen
from replay_tui.screens.trajectory_screen import TrajectoryScreen
from replay_tui.widgets.text_page import TextPage
from tests.tui.aligned import aligned_run
from tests.tui.conftest import Browsing, press, screen_text, settle, wait_until
from tests.tui.test_snapshots import SIZES, walk

SCREENS = {
    "overview": (),
    "trajectory": ("2", "enter"),
    "pairs": ("4",),
    "metrics": ("4", "i"),
}


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return aligned_run(tmp_path_factory.mktemp("aligned"))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
def test_aligned_screen(screen: str, size: tuple[int, int], aligned: Path, snap_compare: Callable[..., bool]) -> None:
    open_run = OpenRun(aligned)
    try:
        assert snap_compare(BrowseApp(open_run), terminal_size=size, run_before=partial(walk, SCREENS[screen]))
    finally:
        open_run.close()


@pytest.mark.anyio
async def test_the_task_comes_along_from_a_trajectory_to_its_alignment_and_back(
    browse: Browsing, aligned: Path
) -> None:
    async with browse(aligned) as pilot:
        await press(pilot, "2", *"nnnn", "enter")
        trajectory = cast("TrajectoryScreen", pilot.app.screen)
        assert trajectory.stored is not None
        assert (trajectory.stored.model, trajectory.stored.record.id) == ("bob", "films")
        await press(pilot, "4")
        alignment = cast("AlignmentScreen", pilot.app.screen)
        assert alignment.table.selected is not None
        assert alignment.table.selected.name == "films"
        assert "bob · model 2 of 2" in screen_text(pilot)
        await press(pilot, "down", "3")
        assert cast("TrajectoryScreen", pilot.app.screen).stored is not None
        assert (trajectory.stored.model, trajectory.stored.record.id) == ("bob", "sales")


@pytest.mark.anyio
async def test_the_reference_stands_beside_the_graph_and_in_the_call(browse: Browsing, aligned: Path) -> None:
    async with browse(aligned) as pilot:
        await press(pilot, "2", "enter")
        beside = pilot.app.screen.query_one("#reference", TextPage).text
        assert "R3 s4c1 excel/save_sheet" in beside
        assert "missing" in beside
        page = pilot.app.screen.query_one("#page", TextPage).text
        assert "In the reference" in page
        assert '"rows": 10' in page
        await press(pilot, "right")
        assert "no counterpart" in pilot.app.screen.query_one("#page", TextPage).text


@pytest.mark.anyio
async def test_without_an_alignment_nothing_stands_beside_the_graph(
    browse: Browsing, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample.parent)
    async with browse(sample) as pilot:
        await press(pilot, "3")
        assert not pilot.app.screen.query_one("#reference").display
        await press(pilot, "4")
        told = pilot.app.screen.query_one(TextPage).text
        assert f"--reference REFERENCE.json --run {sample.name}" in told, "of the run that is shown"


@pytest.mark.anyio
async def test_what_is_filtered_is_exported(
    browse: Browsing, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with browse(sample, start="outcome:not_found") as pilot:
        await press(pilot, "e")
        labels = [str(option.prompt) for option in pilot.app.screen.query_one(OptionList).options]
        place = labels.index("csv: the calls that match outcome:not_found")
        await press(pilot, *["down"] * place, "enter")
        assert pilot.app.screen.query_one(Input).value == "replay-calls.csv"
        await press(pilot, "enter")
        await wait_until(pilot, (tmp_path / "replay-calls.csv").exists)
        written = (tmp_path / "replay-calls.csv").read_text().splitlines()
        assert len(written) == 3
        assert all(",not_found," in line for line in written[1:])


@pytest.mark.anyio
async def test_the_palette_begins_with_the_actions_of_the_screen(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: bool(pilot.app.screen.query_one(CommandList).options))
        names = [str(option.prompt).splitlines()[0] for option in pilot.app.screen.query_one(CommandList).options]
        assert names[:2] == ["Filter", "Failures"]
        assert {"Overview", "Export", "Quit"} < set(names)
        assert not {"Up", "Down", "Page Left"} & set(names)


@pytest.mark.anyio
async def test_bars_are_solid_with_one_letter_a_segment(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await settle(pilot)
        assert "S  " in screen_text(pilot)
        assert "SS" not in screen_text(pilot)
        assert "invalid arguments" in screen_text(pilot).splitlines()[2]
