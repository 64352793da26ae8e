"""The HTML page in a real browser: its speed, its keys, its filter, and a console that stays silent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.records.alignment import AlignedModel, AlignedTask, McpEvalScores, Scores
from replay.reports import Selection, render
from replay.runfile import Run
from replay.runfile.rows import pack
from tests.filter_vectors import VECTORS, vectors_run
from tests.reports.test_hostile_text import HOSTILE
from tests.runs import call, failed, make_run, schema, server, write_trajectory

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FILES = server("files", read=schema("path"), list=schema("path"))
Open = Callable[[Path], Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens a page; at the end nothing was said on its console and nothing was asked of the network."""
    said: list[str] = []
    asked: list[str] = []
    pages: list[Any] = []

    def open_(path: Path) -> Any:
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("#rows tr")
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []


def page_of(directory: Path, calls: list[dict[str, Any]], copies: int = 1, **fields: Any) -> Path:
    files = [
        write_trajectory(directory / f"task-{number}.trajectory.json", calls, **fields) for number in range(copies)
    ]
    with Run.read(make_run(directory / "run.db", files, FILES)) as run:
        path = directory / "report.html"
        path.write_text(render(run, "html"), "utf-8")
    return path


def some_calls() -> list[dict[str, Any]]:
    return [
        call("files/list", {"path": "/w"}, "b.txt"),
        failed("files/read", {"path": "/w/a.txt"}, "ENOENT: no such file or directory, open '/w/a.txt'"),
        failed("files/read", {}, "Input validation error"),
        call("files/read", {"path": "/w/b.txt"}, "text"),
    ]


def test_hostile_text_is_shown_literally_and_runs_nothing(tmp_path: Path, open_page: Open) -> None:
    calls = [
        failed("files/read", {"path": HOSTILE}, f"Error: '{HOSTILE}' not found"),
        call("files/read", {"path": "x"}, HOSTILE),
        call(f"files/{HOSTILE}", {}, None),
    ]
    page = open_page(page_of(tmp_path, calls, question=HOSTILE, model=f"<b>m</b>{HOSTILE}", final_reply=HOSTILE))
    page.click("#rows tr")
    shown = page.inner_text("#detail-body")
    assert "<img src=x onerror=alert(2)>" in shown
    assert "</script><script>alert(1)</script>" in shown
    assert "\\x1b[31mred" in shown
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    page.keyboard.press("Escape")
    page.click("#trajectory-list summary")
    page.wait_for_selector("#trajectory-list pre")
    assert "<img src=x onerror=alert(2)>" in page.inner_text("#trajectory-list")


def test_it_opens_on_the_failures_and_filters_as_the_browser_does(tmp_path: Path, open_page: Open) -> None:
    page = open_page(page_of(tmp_path, some_calls()))

    def count(text: str) -> str:
        page.fill("#filter", text)
        return str(page.inner_text("#count"))

    assert page.input_value("#filter") == "outcome:failed"
    assert page.inner_text("#count") == "2 of 4 calls"
    assert count("") == "4 of 4 calls"
    assert count("outcome:not_found,success") == "3 of 4 calls"
    assert count("-outcome:failed") == "2 of 4 calls"
    assert count("tool:list") == "1 of 4 calls"
    assert count("tool:files/re*") == "3 of 4 calls"
    assert count("server:files required") == "1 of 4 calls"
    assert count("model:gpt trajectory:task-0 drift:none") == "4 of 4 calls"
    page.fill("#filter", "colour:red")
    assert 'no filter key "colour"' in page.inner_text("#filter-error")
    page.click("text=not found 1")
    assert page.inner_text("#count") == "1 of 4 calls"


def test_it_can_be_used_with_the_keyboard_alone(tmp_path: Path, open_page: Open) -> None:
    page = open_page(page_of(tmp_path, some_calls()))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert page.locator("dialog[open]").count() == 1
    assert 'The required field "path" is missing.' in page.inner_text("#detail-body")
    page.keyboard.press("k")
    assert '"path" names "/w/a.txt", which is not there.' in page.inner_text("#detail-body")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.wait_for_function("document.activeElement.closest('#rows tr') !== null")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"


def test_its_filter_matches_what_the_vectors_say(tmp_path: Path, open_page: Open) -> None:
    with Run.read(vectors_run(tmp_path)) as run:
        (tmp_path / "report.html").write_text(render(run, "html"), "utf-8")
    page = open_page(tmp_path / "report.html")
    matching = """text => {
        try { return CALLS.filter(makeTest(parseFilter(text), CALLS)).map(call => `${call.trajectory.id}:${call.p}`); }
        catch (error) { return error.message; }
    }"""
    for vector in VECTORS:
        found = page.evaluate(matching, vector["filter"])
        if "error" in vector:
            assert vector["error"] in found, vector
        else:
            assert found == vector["calls"], vector


def test_the_graph_of_a_trajectory_is_drawn_with_a_box_a_call(tmp_path: Path, open_page: Open) -> None:
    page = open_page(page_of(tmp_path, some_calls()))
    page.click("#trajectory-list summary")
    page.wait_for_selector("#trajectory-list .dag rect")
    assert page.locator("#trajectory-list .dag rect").count() == 4
    assert page.locator("#trajectory-list .dag rect.failed").count() == 2


def test_light_dark_and_print_differ_and_print_hides_the_controls(tmp_path: Path, open_page: Open) -> None:
    page = open_page(page_of(tmp_path, some_calls()))
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours[0] != colours[1]
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("#filter")
    assert page.is_visible("#distribution svg")


def test_five_thousand_calls_are_there_and_the_first_rows_are_drawn(tmp_path: Path, open_page: Open) -> None:
    page = open_page(page_of(tmp_path, some_calls() * 25, copies=50))
    assert page.inner_text("#count") == "2500 of 5000 calls"
    assert page.locator("#rows tr").count() == 100
    page.click("#more")
    assert page.locator("#rows tr").count() == 200


def test_aligned_pairs_stand_side_by_side_with_the_metrics(tmp_path: Path, open_page: Open) -> None:
    file = write_trajectory(tmp_path / "t.trajectory.json", some_calls())
    reference = write_trajectory(tmp_path / "reference.json", [call("files/read", {"path": "/w/b.txt"}, None)], id="t")
    run_path = make_run(tmp_path / "run.db", [file], FILES)
    rates = dict.fromkeys(Scores.model_fields, 0.5)
    aggregate = {"num_ids": 1, "total_gt_calls": 1, "total_pred_calls": 4, "matched": 1, "average_steps": 4}
    model = AlignedModel.model_validate(
        {
            "file": str(file),
            "model": "gpt",
            "definitions": "published",
            "tau_strong": 0.8,
            "tau_weak": 0.6,
            "encoder": "MiniLM",
            "aggregate": {**rates, **aggregate, "average_calls": 4},
            "average_score": 0.625,
            "aggregate_with_missing": {**rates, **aggregate, "average_calls": 4},
            "average_score_with_missing": 0.5,
            "missing": [],
            "extra": [],
            "types": [],
            "classes": {"correct": 1, "redundant": 1},
            "mcpeval": dict.fromkeys(McpEvalScores.model_fields, 0.5),
        }
    )
    task = AlignedTask.model_validate(
        {
            "id": "t",
            **rates,
            "total_gt_calls": 1,
            "total_pred_calls": 4,
            "matched": 1,
            "steps": 4,
            "matches": [(0, 3, 0.91)],
            "calls": [
                {"index": 1, "position": "s2c1", "name": "files/read", "kind": "redundant", "why": "taken"},
                {"index": 3, "position": "s4c1", "name": "files/read", "kind": "correct"},
            ],
            "mcpeval": dict.fromkeys(McpEvalScores.model_fields, 0.5),
        }
    )
    with Run.open(run_path) as run:
        run.connection.execute("INSERT INTO alignments VALUES (1, ?)", (pack(model.model_dump(mode="json")),))
        run.connection.execute("INSERT INTO aligned_tasks VALUES (1, 't', ?)", (pack(task.model_dump(mode="json")),))
        (tmp_path / "report.html").write_text(render(run, "html", Selection(reference=reference)), "utf-8")
    page = open_page(tmp_path / "report.html")
    assert "0.625" in page.inner_text("#alignment table")
    page.click("#pairs summary")
    page.wait_for_selector("#pairs table")
    rows = page.locator("#pairs tbody tr").all_inner_texts()
    assert "nothing" in rows[0]
    assert "taken" in rows[0]
    assert rows[1].count("/w/b.txt") == 2
    assert "0.910" in rows[1]


def test_the_page_forbids_everything_but_its_own_style_and_script(tmp_path: Path) -> None:
    text = page_of(tmp_path, some_calls()).read_text("utf-8")
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert "unsafe-inline" not in text
    assert json.loads(text.partition('id="data">')[2].partition("</script>")[0])["totals"]["calls"] == 4
