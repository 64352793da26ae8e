"""`import replay`: what it gives, what it costs, and what its page says of it."""

from __future__ import annotations

import asyncio
import doctest
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import replay
from replay.analysis.answer_labels import AnswerLabel, write_label
from replay.cli.browse import judge_recorded
from replay.errors import MissingExtraError, RunFileError, UsageError
from replay.formats import FileNames, open_files
from tests.scripts import ROOT

STEPS = [[("files/read", {"path": "<b>x</b>"}, "Error: ENOENT: no such file or directory, open '<b>x</b>'")]]


def test_the_public_surface_is_sorted_small_and_there() -> None:
    assert sorted(replay.__all__) == replay.__all__
    assert len(replay.__all__) <= 25
    assert all(getattr(replay, name).__doc__ for name in replay.__all__ if name != "Answer")
    assert set(replay.__all__) <= set(dir(replay))
    with pytest.raises(AttributeError, match="no attribute 'clasify'"):
        _ = replay.clasify


def test_importing_it_loads_nothing_else() -> None:
    probe = "import sys; before = set(sys.modules); import replay; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) == {"replay"}
    assert [name for name in loaded if name.startswith("replay.")] == []


def test_the_page_about_it_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert (failed, tried > 8) == (0, True)


def test_calls_are_judged_within_an_event_loop_as_a_notebook_has_it(results_file: Callable[..., Path]) -> None:
    results = results_file(run=STEPS)

    async def cell() -> list[replay.CallRow]:
        with replay.classify(results) as run:
            return run.calls()

    (row,) = asyncio.run(cell())
    assert (row.outcome, row.tool) == (replay.Outcome.NOT_FOUND, "files/read")


def test_what_a_person_said_an_answer_means_holds_in_python_and_where_files_are_browsed(
    results_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = results_file(run=[[("rooms/pick", {"n": 7}, "the 7 one")]])
    label = AnswerLabel(tool="*pick", template="the * one", outcome=replay.Outcome.NOT_FOUND)
    write_label(tmp_path / "replay-labels.yaml", label)
    with replay.classify(results) as run:
        assert [row.outcome for row in run.calls()] == [replay.Outcome.NOT_FOUND]
    asyncio.run(judge_recorded(list(open_files([results], FileNames(None))), tmp_path / "other.db", None))
    with replay.open_run(tmp_path / "other.db") as run:
        assert [row.outcome for row in run.calls()] == [replay.Outcome.NOT_FOUND]


def test_tables_in_a_notebook_hold_nothing_that_a_server_could_run(results_file: Callable[..., Path]) -> None:
    with replay.classify([results_file(run=STEPS)]) as run:
        shown = run._repr_html_() + run.trajectories()[0]._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_a_run_is_kept_where_it_is_told_to_and_else_goes(results_file: Callable[..., Path], tmp_path: Path) -> None:
    results = results_file(run=STEPS)
    with replay.classify(results, run=tmp_path / "kept.db") as run:
        assert run.path.exists()
    assert len(replay.open_run(tmp_path / "kept.db").calls()) == 1
    with replay.classify(results) as run:
        path = run.path
    assert not path.exists()
    with pytest.raises(RunFileError):
        replay.open_run(tmp_path / "none.db")


def test_what_cannot_be_read_is_told_and_raised_where_nothing_can(
    results_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("[{")
    notes: list[str] = []
    with replay.classify([tmp_path / "broken.json", results_file(run=STEPS)], on_note=notes.append):
        assert any("broken.json" in note for note in notes)
    with pytest.raises(replay.ReplayError, match=r"broken\.json"):
        replay.classify(tmp_path / "broken.json")


def test_without_pandas_a_data_frame_says_what_to_install(
    results_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with replay.classify(results_file(run=STEPS)) as run, pytest.raises(MissingExtraError, match="pip install"):
        run.to_pandas()


def test_a_format_that_there_is_not_is_named(results_file: Callable[..., Path]) -> None:
    with replay.classify(results_file(run=STEPS)) as run, pytest.raises(UsageError, match="there is no format 'doc'"):
        replay.report(run, "doc")


def test_the_samples_are_scored_against_their_reference() -> None:
    (model, _) = replay.align(sorted((ROOT / "traces").glob("*.json")), ROOT / "traces/reference/reference.json")
    assert (model.model, model.aggregate.recall) == ("oolong-2", 1.0)
