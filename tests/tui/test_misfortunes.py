from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from replay.errors import RunFileError
from replay.records import Call, Outcome
from replay.runfile import Run
from replay_tui.browser import OpenRun
from replay_tui.screens.calls_screen import CallsScreen
from replay_tui.screens.trajectory_screen import TrajectoryScreen
from tests.tui.conftest import Browsing, press, screen_text, settle, wait_until
from tests.tui.sample import judged, trajectory_of, written

_ACTED_ON = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_hostile_text_is_shown_literally(browse: Browsing, hostile: Path, size: tuple[int, int]) -> None:
    async with browse(hostile, size=size) as pilot:
        for keys in (["1"], ["1", "a"], ["2"], ["3"], ["right_square_bracket"], ["right_square_bracket"], ["5"]):
            await press(pilot, *keys)
            shown = screen_text(pilot)
            assert not _ACTED_ON.search(shown)
            assert all(unicodedata.category(letter) != "Cf" for letter in shown)
        await press(pilot, "3", "left_square_bracket", "left_square_bracket", "home")
        shown = screen_text(pilot)
        assert r"\x1b[31mred\x1b[2J" in shown
        assert "[bold]evil[/bold]" in shown
        if size[0] >= 120:
            assert "[bold red]markup[/]" in shown


@pytest.mark.anyio
async def test_hostile_text_in_notes_palette_and_copies(browse: Browsing, hostile: Path, tmp_path: Path) -> None:
    async with browse(hostile, clipboard_file=tmp_path / "copied.md") as pilot:
        await press(pilot, "2", "y", "o")
        assert "\x1b" not in (tmp_path / "copied.md").read_text()
        assert not _ACTED_ON.search(screen_text(pilot))
        await pilot.press("ctrl+p")
        await pilot.press(*"evil")
        await wait_until(pilot, lambda: "[bold]evil[/bold]" in screen_text(pilot))
        assert not _ACTED_ON.search(screen_text(pilot))


@pytest.mark.anyio
async def test_a_growing_run_is_shown_live(browse: Browsing, tmp_path: Path) -> None:
    one = Call(position="s1c1", name="files/read", arguments={})
    path = written(tmp_path / "run.db", trajectory_of([[one]]), [judged(one, Outcome.SUCCESS)])
    async with browse(path) as pilot:
        await press(pilot, "2")
        table = cast("CallsScreen", pilot.app.screen).table
        assert table.row_count() == 1
        written(path, trajectory_of([[one]], id="two"), [judged(one, Outcome.NOT_FOUND)])
        await wait_until(pilot, lambda: table.row_count() == 2)
        assert table.selected is not None
        assert table.selected.task == "one"


@pytest.mark.anyio
async def test_a_trajectory_that_is_still_running(browse: Browsing, tmp_path: Path) -> None:
    calls = [Call(position=f"s{step}c1", name="files/read", arguments={}) for step in (1, 2)]
    whole = trajectory_of([[one] for one in calls])
    with Run.open(tmp_path / "run.db") as run:
        state = run.begin(whole, file="results/one.json", format="m3bench", policy="")
        run.save_calls(state.row, {0: judged(calls[0], Outcome.SUCCESS)})
        run.flush()
        async with browse(tmp_path / "run.db") as pilot:
            await press(pilot, "3", "end")
            assert "still running" in screen_text(pilot)
            assert "no verdict: not judged yet" in screen_text(pilot)
            run.finish(state.row, whole, [judged(one, Outcome.NOT_FOUND) for one in calls])
            await wait_until(pilot, lambda: "still running" not in screen_text(pilot))
            assert cast("TrajectoryScreen", pilot.app.screen).dag.selected == "s2c1"
            assert "N not found" in screen_text(pilot).replace("\u00a0", " ")


@pytest.mark.anyio
async def test_a_run_that_vanishes_and_one_that_takes_its_place(browse: Browsing, tmp_path: Path) -> None:
    one = Call(position="s1c1", name="files/read", arguments={})
    path = written(tmp_path / "run.db", trajectory_of([[one]]), [judged(one, Outcome.SUCCESS)])
    async with browse(path) as pilot:
        for part in list(tmp_path.iterdir()):  # noqa: ASYNC240
            part.unlink()
        await wait_until(pilot, lambda: "run.db is gone" in screen_text(pilot))
        await press(pilot, "2", "n", "enter", "3", "y", "slash", "1")
        assert "run.db is gone" in screen_text(pilot)
        written(path, trajectory_of([[one]], id="other"), [judged(one, Outcome.NOT_FOUND)])
        await wait_until(pilot, lambda: "run.db is gone" not in screen_text(pilot))
        await press(pilot, "2")
        assert "other" in screen_text(pilot)


@pytest.mark.anyio
async def test_a_terminal_that_is_too_small(browse: Browsing, sample: Path) -> None:
    async with browse(sample, size=(40, 10)) as pilot:
        assert "40x10 is too small: 60x16 at least" in screen_text(pilot)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "is too small" not in screen_text(pilot)
        assert "Models" in screen_text(pilot)


@pytest.mark.anyio
async def test_without_colour_the_letters_remain(
    browse: Browsing, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with browse(sample) as pilot:
        assert pilot.app.no_color
        assert "SSSSSS" in screen_text(pilot)
        await press(pilot, "3")
        assert "A read_sheet" in screen_text(pilot)


def test_no_run_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"no run yet; make one with: replay classify"):
        OpenRun(tmp_path / "replay-run.db")


def test_a_run_of_a_newer_version(tmp_path: Path) -> None:
    with Run.open(tmp_path / "run.db") as run:
        run.connection.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    with pytest.raises(RunFileError, match="newer than this replay reads"):
        OpenRun(tmp_path / "run.db")


def test_a_second_run_that_is_none(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "other.db").write_text("no run")
    with pytest.raises(RunFileError, match="not a run file"):
        OpenRun(sample, against=tmp_path / "other.db")


def test_a_pipe_is_told_where_to_go(replay: Callable[..., subprocess.CompletedProcess[str]], sample: Path) -> None:
    done = replay("browse", "--run", sample)
    assert done.returncode == 2
    assert done.stderr.strip() == "replay: browse needs a terminal; for a file or a pipe use: replay report"


@pytest.mark.parametrize(
    ("arguments", "environment", "told"),
    [
        (["browse"], {"TERM": "dumb"}, "TERM=dumb"),
        (["browse"], {}, "make one with: replay classify"),
        (["browse", "broken.json"], {}, "no file could be read"),
        (["browse", "--filter", "outcom:x"], {}, "there is no run yet"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], environment: dict[str, str], told: str, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    shown = on_a_terminal(arguments, tmp_path, environment)
    assert told in shown.replace("\r\n", "")
    assert "Traceback" not in shown


def on_a_terminal(arguments: list[str], directory: Path, environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "replay", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=directory,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    read = b""
    try:
        while chunk := os.read(ours, 65536):
            read += chunk
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 2
    return read.decode()
