"""What grows with the calls of a run is written piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.reports import Selection, Spool, pieces, render
from replay.runfile import Run
from tests.runs import call, failed, make_run, schema, server, write_trajectory


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    calls = [call("files/list", {"path": "/w"}, "b.txt"), failed("files/read", {}, "Input validation error")]
    written = [write_trajectory(tmp_path / f"task-{number}.trajectory.json", calls) for number in range(3)]
    return make_run(tmp_path / "run.db", written, server("files", read=schema("path"), list=schema("path")))


@pytest.mark.parametrize(
    ("form", "mark", "whole"), [("json", '"call": "s', 6), ("csv", ",s", 6), ("junit", "<tests", 3)]
)
def test_each_call_or_suite_of_a_report_is_a_piece_of_its_own(run_path: Path, form: str, mark: str, whole: int) -> None:
    with Run.read(run_path) as run:
        found = list(pieces(run, form, Selection()))
        assert "".join(found) == render(run, form)
    assert sum(mark in piece for piece in found) >= whole
    assert max(map(len, found)) < sum(map(len, found)) / 2


def test_texts_come_back_as_they_were_put_in_also_from_a_file() -> None:
    texts = ["a\nb", "é" * 3_000_000, "\u2028", ""]
    with Spool() as spool:
        for text in texts:
            spool.add(text)
        assert list(spool) == texts
