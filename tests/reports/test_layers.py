"""What an answer came in, as the report on a call tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from replay.records import EnvelopeKind
from replay.reports import Selection, markdown_call, render
from replay.runfile import Run
from tests.runs import call, make_run, schema, server, write_trajectory

HARBOUR = server("harbour", ships=schema("port"))
PACKED = json.dumps({"content": [{"type": "text", "text": "Error: no such port"}], "isError": True})


def _report(folder: Path, answer: str) -> str:
    file = write_trajectory(folder / "t.trajectory.json", [call("harbour/ships", {"port": "Bergen"}, answer)])
    return render(Run.read(make_run(folder / "run.db", [file], HARBOUR)), "markdown", Selection(call="t:s1c1"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (PACKED, ", in it a whole tool result that calls it an error"),
        (f"Tool result: {PACKED}", ", in it a label `Tool result:`, in it a whole tool result that calls it an error"),
    ],
)
def test_the_report_on_a_call_names_what_its_answer_came_in(tmp_path: Path, answer: str, said: str) -> None:
    assert said in _report(tmp_path, answer)


def test_an_answer_that_came_in_nothing_has_no_such_line(tmp_path: Path) -> None:
    assert "The answer came in" not in _report(tmp_path, "three ships")


def test_every_envelope_has_its_words() -> None:
    assert set(markdown_call._LAYERS) == set(get_args(EnvelopeKind))
