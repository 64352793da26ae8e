from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.formats import open_files
from replay.formats.file_names import FileNames
from tests.formats.test_sources import CHAT


@pytest.mark.parametrize(
    ("paths", "pattern", "model", "task"),
    [
        (["r/gpt-5_a.json", "r/gpt-5_b_c.json", "r/x1_a.json", "r/x1_b_c.json"], "{model}_{task}.json", "gpt-5", "a"),
        (["r/a/gpt-5.json", "r/a/opus.json", "r/b/gpt-5.json"], "{task}/{model}.json", "gpt-5", "a"),
        (["r/gpt-5/a.json", "r/gpt-5/b.json", "r/opus/c.json"], "{model}/{task}.json", "gpt-5", "a"),
        (["r/m1/out.json", "r/m2/out.json"], "{model}/out.json", "m1", "out"),
        (["m/run-1/t/messages.json", "m/run-2/u/messages.json"], "run-{run}/{task}/messages.json", "messages", "t"),
        (["gpt-5_a_run1.json", "gpt-5_a_run2.json", "opus_a_run1.json"], "{model}_{task}_run{run}.json", "gpt-5", "a"),
    ],
)  # fmt: skip
def test_a_pattern_that_explains_all_names_is_found(paths: list[str], pattern: str, model: str, task: str) -> None:
    found = FileNames.found_in(paths)
    assert found is not None
    assert (found.pattern, found.model(paths[0]), found.task(paths[0])) == (pattern, model, task)


@pytest.mark.parametrize(
    "paths",
    [
        ["a.json"],
        ["a.json", "b.json"],
        ["r/a_x.json", "r/b_y.json", "r/c_z.json"],
        ["gpt-5_test_mcp_fuzzy.json", "opus_test_mcp_fuzzy.json"],
        ["a/b.json", "c.json"],
        ["a.json", "a.jsonl"],
    ],
)
def test_names_that_no_pattern_explains_are_left_as_they_are(paths: list[str]) -> None:
    assert FileNames.found_in(paths) is None


def test_a_field_that_is_neither_model_task_nor_run_is_a_label() -> None:
    names = FileNames("{model}_{difficulty}_{task}.json")
    assert (names.model("a_hard_1.json"), names.task("a_hard_1.json")) == ("a", "1")
    assert names.labels("a_hard_1.json") == {"difficulty": "hard"}
    assert FileNames().labels("a_hard_1.json") == {}


def test_the_pattern_is_told_once_where_a_model_comes_from_it(tmp_path: Path) -> None:
    for name in ("gpt-5_a", "gpt-5_b", "opus_a", "opus_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"messages": CHAT}))
    notes: list[str] = []
    files = list(open_files([tmp_path], on_note=notes.append))
    assert [(file.model, file.ids) for file in files] == [
        ("gpt-5", ("a",)), ("gpt-5", ("b",)), ("opus", ("a",)), ("opus", ("b",)),
    ]  # fmt: skip
    (note,) = notes
    assert "4 file names read as --names '{model}_{task}.json': 2 models, 2 tasks" in note


def test_a_model_that_stands_in_the_file_wins_and_nothing_is_said(tmp_path: Path) -> None:
    for name in ("gpt-5_a", "gpt-5_b", "opus_a", "opus_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"messages": CHAT, "model": "true"}))
    notes: list[str] = []
    assert {file.model for file in open_files([tmp_path], on_note=notes.append)} == {"true"}
    assert notes == []


def test_a_trajectory_has_the_same_id_and_model_whether_its_file_is_named_alone_or_with_others(tmp_path: Path) -> None:
    for name in ("gpt-5_a", "gpt-5_b", "opus_a", "opus_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"messages": CHAT}))
    first, second = tmp_path / "gpt-5_a.json", tmp_path / "gpt-5_b.json"
    for named in ([first], [first, second], [tmp_path], [tmp_path / "gpt-5_*.json"], [first, tmp_path / "opus_a.json"]):
        file = next(open_files(named))
        assert (file.model, file.ids) == ("gpt-5", ("a",)), named
