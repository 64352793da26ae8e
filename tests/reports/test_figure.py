"""The figure as a file: it looks the same in programs that know no style sheets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.reports import render
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory


@pytest.fixture
def figure(tmp_path: Path) -> str:
    calls = [call("files/read", {"path": "a"}), failed("files/read", {"path": "b"}, "ENOENT: no such file 'b'")]
    file = write_trajectory(tmp_path / "t.trajectory.json", calls, model='"var(--ink)" class="ink"')
    with Run.read(make_run(tmp_path / "run.db", [file])) as run:
        return render(run, "svg")


def test_the_figure_needs_no_style_sheet(figure: str) -> None:
    assert "<style" not in figure
    assert not re.search(r'<[^>]*(?:class=|="var\()', figure)
    assert 'fill="#cfe8d5"' in figure


def test_what_a_model_is_called_stays_as_it_is(figure: str) -> None:
    assert "&#34;var(--ink)&#34; class=" in figure
