"""Keys that are typed faster than the screens follow: all of them wait in the app's queue at once."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from textual import events
from textual.pilot import Pilot

from replay_tui.screens.calls_screen import CallsScreen
from replay_tui.screens.overview_screen import OverviewScreen
from replay_tui.widgets.filter_line import FilterInput, FilterLine
from tests.tui.conftest import Browsing, press, screen_text, settle, wait_until

pytestmark = pytest.mark.anyio


def hurry(pilot: Pilot[None], *keys: str) -> None:
    """Put keys into the queue; nothing is waited for between them."""
    names = {":": "colon", "_": "underscore", "/": "slash"}
    for key in keys:
        pilot.app.post_message(events.Key(names.get(key, key), key if len(key) == 1 else None))


async def test_what_is_typed_right_after_the_slash_is_in_the_filter(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        hurry(pilot, "2", *"/outcome:not_found", "enter")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, CallsScreen))
        screen = cast("CallsScreen", pilot.app.screen)
        await wait_until(pilot, lambda: screen.filter.text == "outcome:not_found")
        await wait_until(pilot, lambda: screen.table.row_count() == 2)
        assert screen.table.has_focus


async def test_tab_takes_the_completion_of_what_was_typed_before_it(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        hurry(pilot, "2", "/", *"ou", "tab", *"inv", "tab", "enter", "j")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, CallsScreen))
        screen = cast("CallsScreen", pilot.app.screen)
        await wait_until(pilot, lambda: screen.filter.text == "outcome:invalid_arguments")


async def test_keys_after_enter_belong_to_the_list(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        screen = cast("CallsScreen", pilot.app.screen)
        hurry(pilot, "/", *"server:excel", "enter")
        hurry(pilot, "1")
        await wait_until(pilot, lambda: isinstance(pilot.app.screen, OverviewScreen))
        assert screen.filter.text == "server:excel"
        assert screen.query_one(FilterLine).field.value == "server:excel"


async def test_escape_leaves_the_filter_as_it_was(browse: Browsing, sample: Path) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2")
        screen = cast("CallsScreen", pilot.app.screen)
        hurry(pilot, "/", *"server:excel", "escape")
        await settle(pilot)
        assert screen.query_one(FilterLine).field.value == "outcome:failed"
        await wait_until(pilot, lambda: screen.table.row_count() == 4)


async def test_the_likeliest_completion_stands_in_the_line_and_the_right_arrow_takes_it(
    browse: Browsing, sample: Path
) -> None:
    async with browse(sample) as pilot:
        await press(pilot, "2", "slash", *"outc")
        assert "outcome:" in screen_text(pilot).splitlines()[1]
        await press(pilot, "right")
        assert pilot.app.screen.query_one(FilterInput).value == "outcome:"
