"""The wheel holds both packages and what they read at run time, and works from where it is unpacked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")))))


def test_the_wheel_holds_every_file_of_both_packages_and_nothing_else(wheel: Path) -> None:
    expected = {
        path.relative_to(base).as_posix()
        for base, package in ((ROOT, "replay"), (ROOT / "tui", "replay_tui"))
        for path in (base / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    with ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        (scripts,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        assert "replay = replay.cli:main" in archive.read(scripts).decode()
    assert packed == expected
    assert {"replay/py.typed", "replay/reports/page/filter.js", "replay_tui/screens.tcss"} <= packed


def test_the_unpacked_wheel_runs_and_holds_the_browser(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    script = """
import replay, replay_tui.app
from replay.reports.html import render
from importlib.resources import files
assert (files("replay.reports") / "page" / "filter.js").is_file()
print(replay.__file__)
print(replay_tui.app.__file__)
"""
    assert run_python(site, "-c", script).split() == [
        str(site / "replay" / "__init__.py"),
        str(site / "replay_tui" / "app.py"),
    ]
    assert "Usage: replay" in run_python(site, "-m", "replay", "browse", "--help")


def run_python(site: Path, *arguments: str) -> str:
    """What a Python prints that finds our packages in `site` first."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, *arguments]
    ended = subprocess.run(command, cwd=site.parent, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
