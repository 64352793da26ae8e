"""The figure as a program draws it that knows no style sheets: rsvg-convert."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from replay.reports import render
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory

RSVG = shutil.which("rsvg-convert")
SUCCESS, NOT_FOUND = (0xCF, 0xE8, 0xD5), (0xF5, 0xD9, 0x9A)


@pytest.mark.skipif(RSVG is None, reason="rsvg-convert (librsvg2-bin) is not installed")
def test_rsvg_draws_the_figure_in_its_colours(tmp_path: Path) -> None:
    calls = [call("files/read", {"path": "a"}), failed("files/read", {"path": "b"}, "ENOENT: no such file 'b'")]
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)])
    with Run.read(path) as run:
        (tmp_path / "figure.svg").write_text(render(run, "svg"), "utf-8")
    command = [str(RSVG), "--format", "svg", "figure.svg"]
    drawn = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert drawn.stderr == ""
    assert {SUCCESS, NOT_FOUND} <= painted(drawn.stdout)


def painted(svg: str) -> set[tuple[int, ...]]:
    """The colours that the program resolved, of 0 to 255."""
    found = re.findall(r"rgb\(([\d.]+)%, ?([\d.]+)%, ?([\d.]+)%\)", svg)
    return {tuple(round(float(share) * 2.55) for share in colour) for colour in found}
