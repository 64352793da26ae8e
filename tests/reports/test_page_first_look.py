"""What a reader of the page sees first, on a wide screen and on a telephone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.analysis.audit import audit
from replay.analysis.compare import compare_models
from replay.analysis.tool_usage import tool_report
from replay.records import Outcome
from replay.reports import audit as audit_report
from replay.reports import compare as comparison_report
from replay.reports import render
from replay.reports.tools import tools_html
from replay.runfile import Run
from tests.reports.test_page import CHROMIUM, FLAGS, sync_api
from tests.runs import Step, call, failed, make_run, schema, server, write_trajectory
from tests.tui.aligned import aligned_run

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture(scope="module")
def page_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    with Run.read(aligned_run(tmp_path_factory.mktemp("aligned"))) as run:
        return render(run, "html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def page(browser: Any, page_text: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page_text, "utf-8")
    opened = browser.new_page(viewport={"width": 400, "height": 900})
    opened.goto(path.as_uri())
    return opened


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of a run of two models with long names, by their verbs."""
    directory = tmp_path_factory.mktemp("long-names")
    path = f"/workspace/{'a_folder_of_a_long_name' * 4}/settlement_summary.txt"
    tool = "files-of-the-office/write_a_file_of_a_long_name"
    steps = [
        failed(tool, {"path": path, "mode": 7}, "Input validation error: mode"),
        failed("files-of-the-office/read", {"path": path}, f"ENOENT: no such file or directory, open '{path}'"),
        failed("files-of-the-office/read", {"path": path}, "Error: request timed out after 30 seconds"),
    ]
    office = server("files-of-the-office", write_a_file_of_a_long_name=schema("path"), read=schema("path"))

    def written(model: str, calls: list[Step], **reported: bool) -> Path:
        file = directory / f"{model}.trajectory.json"
        return write_trajectory(file, calls, model=model, id="k8s-deployment-cleanup", reported=reported)

    won = written("claude-4.5-sonnet", [call(tool, {"path": path}, "done")], passed=True)
    lost = written("deepseek-v3.2-exp", steps, passed=False)
    pages = {}
    with Run.read(make_run(directory / "run.db", [won, lost], office)) as run:
        texts = {
            "report": render(run, "html"),
            "compare": comparison_report.render(compare_models(run), "html"),
            "audit": audit_report.render(audit(run), "html"),
            "tools": tools_html(tool_report(run)),
        }
    for verb, text in texts.items():
        pages[verb] = directory / f"{verb}.html"
        pages[verb].write_text(text, "utf-8")
    return pages


_BEYOND = """() => {
    const scrolls = (box) => box && box !== document.body
        && (["auto", "scroll"].includes(getComputedStyle(box).overflowX) || scrolls(box.parentElement));
    const isCut = (part) => part.checkVisibility() && part.getBoundingClientRect().right > innerWidth && !scrolls(part);
    return [...document.querySelectorAll("body :not(.skip)")].filter(isCut).map((part) => part.outerHTML.slice(0, 200));
}"""
"""What ends behind the right edge of the window and cannot be scrolled to by itself."""


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("verb", ["report", "compare", "audit", "tools"])
def test_nothing_of_a_page_is_cut(browser: Any, long_names: dict[str, Path], verb: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(long_names[verb].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_BEYOND) == []
    page.close()


@pytest.mark.parametrize(("verb", "tables"), [("report", "#wrong table, #calls table"), ("audit", "table.words")])
def test_what_is_read_as_text_is_not_scrolled_sideways_on_a_telephone(
    browser: Any, long_names: dict[str, Path], verb: str, tables: str
) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(long_names[verb].as_uri())
    ends = "(cells) => cells.filter((cell) => cell.checkVisibility()).map((cell) => cell.getBoundingClientRect().right)"
    cells = page.eval_on_selector_all(f":is({tables}) :is(td, td *)", ends)
    assert cells
    assert max(cells) <= 400
    page.close()


def test_a_call_with_long_words_fits_its_dialog_on_a_telephone(browser: Any, long_names: dict[str, Path]) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(long_names["report"].as_uri())
    page.click(".opener >> nth=0")
    assert page.eval_on_selector("#detail", "(dialog) => dialog.scrollWidth - dialog.clientWidth") == 0
    page.close()


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
