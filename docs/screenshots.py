"""Draws the browser's screens for the README: `python docs/screenshots.py [RUN]` writes docs/screenshots/*.svg.

RUN is `replay-run.db` by default, as `make demo` leaves it; where there is none, the sample trajectories are judged by
their recorded answers. Alignment is drawn where the run has one (`replay align traces/*.json --reference ...`).
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from replay.classification import Options, Progress, classify_stored
from replay.formats import ResultsFile, open_file
from replay.runfile import Run
from replay_tui.app import BrowseApp
from replay_tui.open_run import OpenRun

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "screenshots"
SIZE = (120, 36)
SCREENS = {
    "overview": ("1",),
    "calls": ("2", "n"),
    "trajectory": ("2", "f", "n", "enter"),
    "alignment": ("4", "m", "down"),
    "compare": ("5",),
    "light": ("t", "2", "n", "enter"),
}
"""Each picture, and the keys that lead there."""


def sample_files() -> list[ResultsFile]:
    """The sample trajectories; no path of this machine gets into a picture."""
    return [open_file(file) for file in sorted(Path("traces").glob("*.json"))]


async def sample(path: Path) -> None:
    """The sample trajectories, judged by their recorded answers."""
    with chdir(ROOT), Run.open(path) as run:
        await classify_stored(run, sample_files(), Options(offline=True), progress=Progress())


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
                await app.workers.wait_for_complete()
        (OUTPUT / f"{name}.svg").write_text(app.export_screenshot(title="replay browse"), "utf-8")
    open_run.close()


async def main() -> None:
    """All pictures."""
    OUTPUT.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("replay-run.db")
        if not path.exists():
            path = Path(directory) / "replay-run.db"
            await sample(path)
        for name, keys in SCREENS.items():
            await draw(path, name, keys)
            print(OUTPUT / f"{name}.svg")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
