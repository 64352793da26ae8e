"""What a page shows of a run that no browser could hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.reports import Selection, html, html_data, render, scope
from replay.reports.scope import scope_of, shown_share
from replay.runfile import Run
from tests.runs import call, failed, make_run, schema, server, write_trajectory


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    files = server("files", read=schema("path"))
    good = [call("files/read", {"path": f"/w/{number}"}, "text") for number in range(3)]
    bad = [*good[:2], failed("files/read", {"path": "/w/x"}, "ENOENT: no such file or directory, open '/w/x'")]
    stories = {"a": good, "b": bad, "c": good, "d": bad}
    paths = [write_trajectory(tmp_path / f"{name}.trajectory.json", steps) for name, steps in stories.items()]
    return make_run(tmp_path / "run.db", paths, files)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(12, ["a", "b", "c", "d"]), (9, ["a", "b", "d"]), (6, ["b", "d"]), (1, ["b"])],
)
def test_trajectories_with_failed_calls_come_first_and_all_stand_in_the_order_of_the_run(run_path, most, expected):
    with Run.read(run_path) as run:
        shown, says = shown_share(scope_of(run, Selection()), most)
    assert [place.trajectory for place in shown.places] == expected
    assert bool(says) == (most < 12)


def test_the_page_says_what_it_left_out_and_counts_all(run_path, monkeypatch):
    monkeypatch.setattr(scope, "MAX_CALLS", 6)
    with Run.read(run_path) as run:
        page = render(run, "html")
    assert "This page shows 6 of 12 calls, in 2 of 4 trajectories" in page
    assert "<dt>calls</dt><dd>12</dd>" in page


def test_of_very_many_models_the_page_draws_the_first_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "MAX_DRAWN", 1)
    monkeypatch.setattr(html, "MAX_MODELS", 2)
    monkeypatch.setattr(scope, "MAX_MODELS", 2)
    steps = [call("files/read", {"path": "/w/x"}, "text")]
    paths = [
        write_trajectory(tmp_path / f"{name}.trajectory.json", steps, model=name) for name in ("ada", "bob", "eve")
    ]
    with Run.read(make_run(tmp_path / "run.db", paths, server("files", read=schema("path")))) as run:
        page, text = render(run, "html"), render(run, "markdown")
    assert "3 calls of 3 models" in text
    assert "*And 1 more models.*" in text
    assert "Of 3 models the bars show the first 1, and the table the first 2; replay compare has all." in page
    assert '<th scope="row">bob</th>' in page
    assert '<th scope="row">eve</th>' not in page
    assert "<dt>calls</dt><dd>3</dd>" in page


def test_a_secret_that_is_cut_off_takes_nothing_of_the_page_with_it(tmp_path, monkeypatch):
    code = "connect(user='reader', password='publicpassword123', database='f1')"
    steps = [call("sh/run", {"code": code}, f"row {number}") for number in range(3)]
    path = write_trajectory(tmp_path / "t.trajectory.json", steps)
    with Run.read(make_run(tmp_path / "run.db", [path], server("sh", run=schema("code")))) as run:
        for width in range(80, 120, 3):
            monkeypatch.setattr(html_data, "_MAX_GOOD_ANSWER", width)
            page = render(run, "html")
            data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
            assert [one["a"] for one in data["calls"]] == ["row 0", "row 1", "row 2"]
            assert "publicp" not in page
