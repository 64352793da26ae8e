"""How each screen looks. After a wanted change: `pytest tests/tui/test_snapshots.py --snapshot-update`, and look."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun
from tests.tui.conftest import press, settle

SIZES = [(80, 24), (120, 40), (200, 60)]
SCREENS = {
    "overview": ("down", "up"),
    "calls": ("2", "n"),
    "filter": ("2", "slash", "o"),
    "trajectory": ("2", "enter"),
    "alignment": ("4",),
    "compare": ("5",),
    "help": ("3", "question_mark"),
}


async def walk(keys: tuple[str, ...], pilot: Pilot[None]) -> None:
    await settle(pilot)
    await press(pilot, *keys)
    for field in pilot.app.screen.query(Input):  # a cursor that blinks is there in every other picture
        field.cursor_blink = False
    await settle(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("screen", SCREENS)
def test_screen(
    screen: str,
    size: tuple[int, int],
    sample: Path,
    snap_compare: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(sample.parent)
    open_run = OpenRun(sample)
    try:
        assert snap_compare(BrowseApp(open_run), terminal_size=size, run_before=partial(walk, SCREENS[screen]))
    finally:
        open_run.close()


def test_light(sample: Path, snap_compare: Callable[..., bool]) -> None:
    open_run = OpenRun(sample)
    try:
        app = BrowseApp(open_run, theme="replay-light")
        assert snap_compare(app, terminal_size=(120, 40), run_before=partial(walk, ("2", "enter")))
    finally:
        open_run.close()
