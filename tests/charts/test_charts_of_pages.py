"""The charts of several models in the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from replay.analysis.compare import CompareSettings, compare_models
from replay.charts import svg
from replay.charts.catalogue import chart_data
from replay.charts.matplotlib_ import drawn
from replay.charts.options import ChartOptions
from replay.records.chart import Cells, Chart
from replay.reports import Selection, html
from replay.reports.compare import render
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
    drawing = str(svg.ranked_bars(chart("leaderboard", ("tokens",), ((1500.0,), (None,)), ((1000.0,), (None,)))))
    assert "not known" in drawing
    assert re.findall(r'text-anchor="end">(\d+\. )?', drawing) == ["1. ", ""], "what is not known has no rank"
    assert "1,500 [1,000, 3,000]" in drawing
    reach = re.search(r"H([\d.]+)", drawing)
    assert reach is not None
    assert float(reach[1]) == 834.0, "the end of the scale"


def test_a_cell_is_the_darker_the_greater_its_share() -> None:
    shares = chart("trajectory-finding", ("kind",), ((0.25,), (1.0,)), counts=((2,), (8,)), totals=(8, 8))
    drawing = str(svg.heat_map(shares))
    assert re.findall(r'fill-opacity="([\d.]+)"', drawing) == ["0.150", "0.600"]
    assert "b, kind: 8 of 8 trajectories" in drawing


def test_a_share_of_few_is_paler_than_that_of_many() -> None:
    shares = chart("trajectory-finding", ("kind",), ((1.0,), (1.0,)), counts=((1,), (100,)), totals=(1, 100))
    drawing = str(svg.heat_map(shares))
    assert re.findall(r'fill-opacity="([\d.]+)"', drawing) == ["0.200", "0.600"]
    assert drawing.count("stroke-dasharray") == 1


@pytest.mark.parametrize("name", ["outcomes", "leaderboard", "trajectory-finding"])
def test_the_page_and_a_figure_of_the_verb_show_the_same_numbers(run_path: Path, name: str) -> None:
    with Run.read(run_path) as run:
        data = chart_data(name, run, ChartOptions())
        page = html.render(run, Selection())
    assert str(svg.drawn(data)) in page
    by_hand, by_matplotlib = ET.fromstring(str(svg.drawn(data))), ET.fromstring(drawn(data, "svg"))
    assert values_in(by_hand) <= values_in(by_matplotlib)
    assert values_in(by_hand)


def values_in(drawing: ET.Element) -> set[str]:
    """The texts of a drawing that are a count or a value, but for those of its axis."""
    texts = {"".join(text.itertext()).strip() for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    return {text for text in texts if re.fullmatch(r"\d+|[\d.]+%|\d\.\d{3}", text)}


def chart(name: str, columns: tuple[str, ...], values: Cells, low: Cells | None = None, **more: Any) -> Chart:
    """Of two models, `a` and `b`."""
    high = tuple(tuple(None if end is None else 3 * end for end in row) for row in low) if low else None
    return Chart(
        figure=name,
        title=name,
        measure=name,
        row_name="model",
        column_name="column",
        rows=("a", "b"),
        columns=columns,
        values=values,
        low=low,
        high=high,
        **more,
    )
