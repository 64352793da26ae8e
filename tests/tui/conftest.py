from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun
from tests.tui.sample import hostile_run, sample_run

Browsing = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample")
    with chdir(directory):  # the paths in the run are relative, and so the same on every machine
        sample_run(Path())
    return directory / "sample.db"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile") / "hostile.db")


@pytest.fixture
def browse() -> Browsing:
    """Opens a run in the browser: `async with browse(path) as pilot`."""

    @asynccontextmanager
    async def open_run(path: Path, size: tuple[int, int] = (120, 40), **more: Any) -> AsyncIterator[Pilot[None]]:
        against = more.pop("against", None)
        open_run = OpenRun(path, against=against)
        app = BrowseApp(open_run, **more)
        try:
            async with app.run_test(size=size) as pilot:
                await settle(pilot)
                yield pilot
        finally:
            open_run.close()

    return open_run


async def settle(pilot: Pilot[None]) -> None:
    """Wait until nothing is being read any more."""
    for _ in range(4):
        await pilot.pause()
        with suppress(WorkerCancelled):  # what is asked anew takes the place of what was asked before
            await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def wait_until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for something that comes on its own: what was typed is looked for, or the run is looked at again."""
    with anyio.fail_after(30):
        while not holds():
            await pilot.pause(0.05)
    await settle(pilot)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, each when the one before has had its effect."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def write(pilot: Pilot[None], text: str) -> None:
    """Type a text."""
    names = {" ": "space", ":": "colon", "_": "underscore", "*": "asterisk", "-": "minus", '"': "quotation_mark"}
    await pilot.press(*(names.get(letter, letter) for letter in text))
    await pilot.pause(0.3)
    await settle(pilot)


def screen_text(pilot: Pilot[None]) -> str:
    """What stands on the screen, line by line."""
    app = pilot.app
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    strips = getattr(update, "strips")  # noqa: B009
    return "\n".join("".join(segment.text for strip in line for segment in strip) for line in strips)
