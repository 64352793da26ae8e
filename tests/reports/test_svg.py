"""The chart as a file: it looks the same in programs that know no style sheets, such as rsvg-convert."""

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


@pytest.fixture
def drawing(tmp_path: Path) -> str:
    calls = [call("files/read", {"path": "a"}), failed("files/read", {"path": "b"}, "ENOENT: no such file 'b'")]
    file = write_trajectory(tmp_path / "t.trajectory.json", calls, model='"var(--ink)" class="ink"')
    with Run.read(make_run(tmp_path / "run.db", [file])) as run:
        return render(run, "svg")


def test_the_chart_needs_no_style_sheet(drawing: str) -> None:
    assert "<style" not in drawing
    assert not re.search(r'<[^>]*(?:class=|="var\()', drawing)
    assert 'fill="#cfe8d5"' in drawing


def test_what_a_model_is_called_stays_as_it_is(drawing: str) -> None:
    assert "&#34;var(--ink)&#34; class=" in drawing


@pytest.mark.skipif(RSVG is None, reason="rsvg-convert (librsvg2-bin) is not installed")
def test_rsvg_draws_the_chart_in_its_colours(tmp_path: Path) -> None:
    calls = [call("files/read", {"path": "a"}), failed("files/read", {"path": "b"}, "ENOENT: no such file 'b'")]
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", calls)])
    with Run.read(path) as run:
        (tmp_path / "chart.svg").write_text(render(run, "svg"), "utf-8")
    command = [str(RSVG), "--format", "svg", "chart.svg"]
    drawn = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert drawn.stderr == ""
    assert {SUCCESS, NOT_FOUND} <= painted(drawn.stdout)


def painted(svg: str) -> set[tuple[int, ...]]:
    """The colours that the program resolved, of 0 to 255."""
    found = re.findall(r"rgb\(([\d.]+)%, ?([\d.]+)%, ?([\d.]+)%\)", svg)
    return {tuple(round(float(share) * 2.55) for share in colour) for colour in found}
