"""The browser on run files with zeroed blocks: it says what is wrong, or shows what can be read."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from replay.errors import ReplayError
from replay.runfile.salvage import UNREADABLE, damage_behind
from tests.runfile.test_damaged import BLOCK, zeroed
from tests.runs import call, make_run, server, write_trajectory
from tests.tui.conftest import Browsing, press, screen_text


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sound")
    files = []
    for number in range(8):
        calls = [call("files/read", {"path": f"/ws/{number}/{n}.txt"}, f"text {n} " * 200) for n in range(4)]
        files.append(write_trajectory(directory / f"task-{number}.trajectory.json", calls))
    path = make_run(directory / "run.db", files, server("files", read={"type": "object"}))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def with_zeroed_blocks(source: Path, target: Path, seed: int) -> Path:
    blocks = source.stat().st_size // BLOCK
    return zeroed(source, target, *random.Random(seed).sample(range(1, blocks), 3))


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(5))
async def test_the_browser_takes_no_damage_for_an_error_of_its_own(
    browse: Browsing, sound: Path, tmp_path: Path, seed: int
) -> None:
    damaged = with_zeroed_blocks(sound, tmp_path / "run.db", seed)
    said = []
    try:
        async with browse(damaged) as pilot:
            for keys in (["1"], ["2", "end", "enter"], ["3", "end"], ["5"]):
                await press(pilot, *keys)
                said.append(screen_text(pilot))
    except ReplayError as refusal:
        said.append(str(refusal))
    except UNREADABLE as problem:
        said.append(str(damage_behind(problem, damaged) or f"Traceback: {problem!r}"))
    assert any(said)
    assert not any("Traceback" in text for text in said)
