"""The figures of several models in the pages."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from replay.analysis.compare import CompareSettings, compare_models
from replay.analysis.measures import MEASURES
from replay.reports import Selection, html
from replay.reports.compare_documents import render
from replay.reports.model_figures import Cells, RankedModel, heat_map, leaderboard
from replay.runfile import Run
from tests.runs import call, failed, make_run, write_trajectory

HOSTILE = "ada<script>\x1b[31m"


@pytest.fixture(scope="module")
def run_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    wrong = failed("f/read", {"path": "x"}, "Error: file not found: x")
    files = [
        write_trajectory(place / f"{number}.trajectory.json", calls, model=model)
        for number, (model, calls) in enumerate([(HOSTILE, [call("f/read"), wrong, wrong]), ("bob", [call("f/read")])])
    ]
    return make_run(place / "run.db", files)


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_the_page_of_a_comparison_has_three_figures_wide_and_narrow(run_path: Path) -> None:
    with Run.read(run_path) as run:
        page = render(compare_models(run, CompareSettings(by="server")), "html")
    widths = [drawing.attrib["viewBox"].split()[2] for drawing in drawings(page)]
    assert widths == ["960", "360"] * 3
    assert "<script" not in page
    assert "\x1b" not in page
    assert "repeated-" in page


def test_the_page_of_a_run_has_them_where_there_are_several_models(run_path: Path) -> None:
    with Run.read(run_path) as run:
        assert len(drawings(html.render(run, Selection()))) == 6
        assert len(drawings(html.render(run, Selection(filter="model:bob")))) == 2


def test_what_is_not_known_is_said_and_a_scale_reaches_the_greatest_end() -> None:
    ranked = [RankedModel("a", 1500.0, 1000.0, 3000.0), RankedModel("b", None, None, None)]
    drawing = str(leaderboard(MEASURES["tokens"], ranked))
    assert "not known" in drawing
    assert "1,500 [1,000, 3,000]" in drawing
    reach = re.search(r"H([\d.]+)", drawing)
    assert reach is not None
    assert float(reach[1]) == 830.0, "the end of the scale"


def test_a_cell_is_the_darker_the_greater_its_share() -> None:
    drawing = str(heat_map(Cells(("a", "b"), ("kind",), ((1,), (4,)), (4, 4))))
    assert re.findall(r'fill-opacity="([\d.]+)"', drawing) == ["0.150", "0.600"]
    assert "b, kind: 4 of 4 trajectories" in drawing
