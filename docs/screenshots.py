"""Draws the browser's screens for the README: `python docs/screenshots.py [RUN]` writes docs/screenshots/*.svg.

RUN is `replay-run.db` by default, as `make demo` leaves it: with verdicts of real servers, and an alignment.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from textual.worker import WorkerCancelled

from replay.runfile.alignment_queries import aligned_models
from replay_tui.app import BrowseApp
from replay_tui.browser import OpenRun

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "screenshots"
SIZE = (120, 36)
SCREENS = {
    "overview": ("1",),
    "calls": ("2", "n"),
    "trajectory": ("2", *"nnnnn", "enter"),
    "alignment": ("2", *"nnnnn", "enter", "4"),
    "compare": ("5",),
    "light": ("t", "2", *"nnnnn", "enter"),
}
"""Each picture, and the keys that lead there."""


async def draw(path: Path, name: str, keys: tuple[str, ...]) -> None:
    """One picture, from a browser of its own."""
    open_run = OpenRun(path, label="replay-run.db")
    app = BrowseApp(open_run)
    async with app.run_test(size=SIZE) as pilot:
        for key in ("", *keys):
            if key:
                await pilot.press(key)
            for _ in range(3):
                await pilot.pause(0.1)
                with suppress(WorkerCancelled):  # what is asked anew takes the place of what was asked before
                    await app.workers.wait_for_complete()
        (OUTPUT / f"{name}.svg").write_text(app.export_screenshot(title="replay browse"), "utf-8")
    open_run.close()


async def main() -> None:
    """All pictures."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("replay-run.db")
    if not path.exists() or not _is_aligned(path):
        sys.exit(f"{path}: pictures need a run with an alignment; make demo makes one")
    OUTPUT.mkdir(exist_ok=True)
    for name, keys in SCREENS.items():
        await draw(path, name, keys)
        print(OUTPUT / f"{name}.svg")  # noqa: T201


def _is_aligned(path: Path) -> bool:
    open_run = OpenRun(path)
    try:
        return bool(aligned_models(open_run.connection))
    finally:
        open_run.close()


if __name__ == "__main__":
    asyncio.run(main())
