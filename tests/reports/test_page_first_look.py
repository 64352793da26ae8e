"""What a reader of the page sees first, on a wide screen and on a telephone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.records import Outcome
from replay.reports import render
from replay.runfile import Run
from tests.reports.test_page import CHROMIUM, FLAGS, sync_api
from tests.runs import call, failed, make_run, schema, server, write_trajectory
from tests.tui.aligned import aligned_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture(scope="module")
def page_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    with Run.read(aligned_run(tmp_path_factory.mktemp("aligned"))) as run:
        return render(run, "html")


@pytest.fixture(scope="module")
def page(page_text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_text, "utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(viewport={"width": 400, "height": 900})
        opened.goto(path.as_uri())
        yield opened
        browser.close()


def test_what_went_wrong_most_stands_before_the_figure_and_the_calls(page_text: str) -> None:
    sections = re.findall(r'<section id="(\w+)"', page_text)
    assert sections[:2] == ["wrong", "distribution"]
    assert sections.index("calls") > 1
    assert "<details" not in page_text.partition('<section id="distribution"')[0]


def test_root_causes_stand_at_the_top(tmp_path: Path) -> None:
    files = server("files", write=schema("path"), read=schema("path"))
    steps = [
        failed("files/write", {"path": "/w/new.txt", "mode": 7}, "Input validation error: mode"),
        failed("files/read", {"path": "/w/new.txt"}, "ENOENT: no such file or directory, open '/w/new.txt'"),
    ]
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", steps)], files)
    with Run.read(path) as run:
        top = render(run, "html").partition('<section id="distribution"')[0]
    assert "Root causes" in top
    assert "t:s1c1" in top


def test_page_and_terminal_have_the_same_letter_for_an_outcome(page_text: str) -> None:
    for outcome in Outcome:
        assert f'.o-{outcome}::before {{ content: "{outcome.letter}"' in page_text


def test_the_figure_is_readable_on_a_telephone(page: Any) -> None:
    assert not page.is_visible("figure.wide svg")
    assert page.is_visible("figure.narrow svg")
    sizes = page.eval_on_selector_all(
        "figure.narrow text", "(texts) => texts.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 10
    right = page.eval_on_selector("figure.narrow svg", "(svg) => svg.getBoundingClientRect().right")
    ends = page.eval_on_selector_all(
        "figure.narrow text", "(texts) => texts.map((one) => one.getBoundingClientRect().right)"
    )
    assert max(ends) <= right
    assert page.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_of_the_page_stands_beyond_its_right_edge(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ends = "(parts) => Math.max(...parts.map((one) => one.getBoundingClientRect().right))"
    assert page.eval_on_selector_all("h1, h2, nav a, figure svg", ends) <= width
    page.set_viewport_size({"width": 400, "height": 900})


def test_an_example_opens_its_call_beside_the_reference(page: Any) -> None:
    page.click("text=sales:s2c1 >> nth=0")
    shown = page.inner_text("#detail-body")
    assert "In the reference" in shown
    assert '"rows": 10' in shown
    page.keyboard.press("Escape")


def test_a_succeeding_run_has_no_section_of_what_went_wrong(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", [call("files/read")])])
    with Run.read(path) as run:
        assert 'id="wrong"' not in render(run, "html")


def test_the_share_of_well_formed_calls_stands_beside_the_outcomes(tmp_path: Path) -> None:
    files = server("files", read=schema("path"))
    steps = [
        call("files/read", {"path": "/w/old.txt"}, "text"),
        failed("files/read", {"path": "/w/new.txt"}, "ENOENT: no such file or directory, open '/w/new.txt'"),
        failed("files/red", {"path": "/w/new.txt"}, "Tool red not found"),
    ]
    path = make_run(tmp_path / "run.db", [write_trajectory(tmp_path / "t.trajectory.json", steps)], files)
    with Run.read(path) as run:
        text = render(run, "html")
    header = re.findall(r'<th scope="col">([^<]*)</th>', text.partition('id="distribution"')[2])[:9]
    cells = re.findall(r"<td>(.*?)</td>", text.partition('id="distribution"')[2], re.DOTALL)[:8]
    assert cells[header.index("well formed") - 1] == "2 <small>66.7 %</small>"
