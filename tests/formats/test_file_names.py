from __future__ import annotations

import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from replay.formats import open_files
from replay.formats.file_names import NO_MODEL, FileNames, proposed_pattern
from tests.formats.test_sources import CHAT


@pytest.mark.parametrize(
    ("path", "model", "task"),
    [
        ("r/model-a_task000.json", "model-a", "task000"),
        ("r/gpt-5_trip-budget.json", "gpt-5", "trip-budget"),
        ("r/gpt-5_b_c.json", "gpt-5", "b_c"),
        ("r/trip_gpt-5.json", "gpt-5", "trip"),
        ("r/gpt-5_a_run2.json", "gpt-5", "a"),
        ("r/run_claude-sonnet-4.6_github.jsonl", "claude-sonnet-4.6", "run_github"),
        ("r/gpt-5__a_b.json.gz", "gpt-5", "a_b"),
        ("r/gpt-5/a.json", "gpt-5", "a"),
        ("r/gpt-5/run-1/a.json", "gpt-5", "a"),
        ("r/gpt-5/run-1/trip/messages.json", "gpt-5", "trip"),
        ("r/m1/out.json", NO_MODEL, "m1"),
        ("r.zip/out.json", NO_MODEL, "out"),
        ("r/gpt-5-mini.json", "gpt-5-mini", "gpt-5-mini"),
        ("r/gpt-5-task1.json", NO_MODEL, "gpt-5-task1"),
        ("r/a_x.json", NO_MODEL, "a_x"),
        ("r/session-2026-01-02.jsonl", NO_MODEL, "session-2026-01-02"),
        ("r/gpt-5_test_mcp_fuzzy.json", "gpt-5", "gpt-5_test_mcp_fuzzy"),
    ],
)
def test_a_name_is_read_by_its_own_words_and_folders(path: str, model: str, task: str) -> None:
    assert (FileNames().model(path), FileNames().task(path)) == (model, task)


def test_a_file_of_many_tasks_is_called_like_its_model() -> None:
    assert FileNames().model_of_results("r/tea-7b.json") == "tea-7b"
    assert FileNames().model_of_results("r/tea-7b_test_mcp_fuzzy.json") == "tea-7b"


@pytest.mark.parametrize(
    ("paths", "proposed"),
    [
        (["r/x1_a.json", "r/x1_b_c.json", "r/y_a.json", "r/y_b_c.json"], "'{model}_{task}.json' (2 models, 2 tasks)"),
        (["r/a/gpt-5.json", "r/a/opus.json", "r/b/gpt-5.json"], "'{task}/{model}.json' (2 models, 2 tasks)"),
        (["r/gpt-5/a.json", "r/gpt-5/b.json", "r/opus/c.json"], "'{model}/{task}.json' (2 models, 3 tasks)"),
        (["r/m1/out.json", "r/m2/out.json"], "'{model}/out.json' (2 models, 1 task)"),
        (
            ["gpt-5_a_run1.json", "gpt-5_a_run2.json", "opus_a_run1.json"],
            "'{model}_{task}_run{run}.json' (2 models, 1 task)",
        ),
    ],
)
def test_a_pattern_that_explains_all_names_is_proposed(paths: list[str], proposed: str) -> None:
    assert proposed_pattern(paths) == f"--names {proposed}"


@pytest.mark.parametrize(
    "paths",
    [
        ["a.json"],
        ["a.json", "b.json"],
        ["r/a_x.json", "r/b_y.json", "r/c_z.json"],
        ["gpt-5_test_mcp_fuzzy.json", "opus_test_mcp_fuzzy.json"],
        ["a/b.json", "c.json"],
        ["a.json", "a.jsonl"],
        ["m/run-1/t/messages.json", "m/run-2/u/messages.json"],
    ],
)
def test_names_of_which_no_pattern_tells_the_model_propose_none(paths: list[str]) -> None:
    assert proposed_pattern(paths) is None


def test_a_field_that_is_neither_model_task_nor_run_is_a_label() -> None:
    names = FileNames("{model}_{difficulty}_{task}.json")
    assert (names.model("a_hard_1.json"), names.task("a_hard_1.json")) == ("a", "1")
    assert names.labels("a_hard_1.json") == {"difficulty": "hard"}
    assert FileNames().labels("a_hard_1.json") == {}


def test_a_pattern_without_a_model_leaves_the_model_to_the_folder() -> None:
    names = FileNames("{task}.json")
    assert (names.model("gpt-5/opus_a.json"), names.task("gpt-5/opus_a.json")) == ("gpt-5", "opus_a")
    assert names.model("opus_a.json") == NO_MODEL


def test_files_without_a_model_are_of_none_and_the_pattern_that_tells_it_is_proposed(tmp_path: Path) -> None:
    for name in ("base_a", "base_b", "tuned_a", "tuned_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"messages": CHAT}))
    notes: list[str] = []
    files = list(open_files([tmp_path], on_note=notes.append))
    assert [(file.model, file.ids) for file in files] == [
        (NO_MODEL, (name,)) for name in ("base_a", "base_b", "tuned_a", "tuned_b")
    ]
    (note,) = notes
    assert note.startswith("4 files name no model")
    assert note.endswith("--names '{model}_{task}.json' (2 models, 2 tasks)")
    (first, *_) = open_files([tmp_path], FileNames("{model}_{task}.json"))
    assert (first.model, first.ids) == ("base", ("a",))


def test_a_model_that_stands_in_the_file_wins_and_nothing_is_said(tmp_path: Path) -> None:
    for name in ("gpt-5_a", "gpt-5_b", "opus_a", "opus_b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"messages": CHAT, "model": "true"}))
    notes: list[str] = []
    assert {file.model for file in open_files([tmp_path], on_note=notes.append)} == {"true"}
    assert notes == []


@pytest.mark.parametrize(
    "names",
    [
        ("model-a_task000.json", "model-a_task001.json", "model-b_task000.json"),
        ("base_a.json", "base_b.json", "tuned_a.json"),
        ("gpt-5/a.json", "gpt-5/b.json", "claude-4.5/a.json"),
        ("gpt-5/trip/messages.json", "gpt-5/tea/messages.json", "other/trip/messages.json"),
    ],
)
def test_a_trajectory_has_one_id_and_model_however_its_file_is_named(
    names: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "checkout" / "results"
    for name in names:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(json.dumps({"messages": CHAT}))
    first, second = results / names[0], results / names[1]
    with tarfile.open(tmp_path / "all.tar", "w") as tar, zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in names:
            tar.add(results / name, f"results/{name}")
            archive.write(results / name, f"results/{name}")
    shutil.copytree(tmp_path / "checkout", tmp_path / "elsewhere" / "checkout")
    alone = tmp_path / "alone" / names[0]
    alone.parent.mkdir(parents=True)
    shutil.copy(first, alone)
    monkeypatch.chdir(first.parent)
    ways: list[list[str | Path]] = [
        [first], [first, second], [results], [results.parent], [tmp_path / "all.tar"], [tmp_path / "all.zip"],
        [tmp_path / "elsewhere"], [alone], [first.name],
        [f"{results}/**/*.json"],
    ]  # fmt: skip
    read = {
        (file.model, file.ids)
        for way in ways
        for file in open_files(way)
        if file.path.endswith(names[0]) or file.path == first.name
    }
    assert len(read) == 1, read
