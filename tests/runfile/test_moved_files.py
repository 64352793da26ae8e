from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import pytest

from tests.formats.test_sources import CHAT
from tests.in_process import replay_here

NAMES = ("gpt-5_a.json", "gpt-5_b.json", "opus_a.json")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "checkout" / "results"
    results.mkdir(parents=True)
    for name in NAMES:
        (results / name).write_text(json.dumps({"messages": CHAT}))
    return results.parent


def classify(*paths: Path, run: str = "run.db") -> None:
    assert replay_here("classify", "--offline", "--run", run, *paths).returncode == 0


def held(run: str = "run.db") -> list[tuple[str, str, str]]:
    with sqlite3.connect(run) as db:
        query = "SELECT f.path, f.model, t.name FROM trajectories t JOIN files f ON f.id = t.file ORDER BY 1"
        return db.execute(query).fetchall()


def test_a_checkout_that_was_moved_is_the_same_run(checkout: Path, tmp_path: Path) -> None:
    classify(checkout, run="before.db")
    classify(checkout)
    moved = checkout.rename(tmp_path / "elsewhere")
    classify(moved)
    results = moved / "results"
    assert held() == [
        (str(results / name), model, task)
        for name, model, task in zip(NAMES, ("gpt-5", "gpt-5", "opus"), ("a", "b", "a"), strict=True)
    ]
    assert "0 calls new, 0 gone" in replay_here("diff", "before.db", "run.db").stdout


def test_a_file_that_was_copied_is_another_file(checkout: Path, tmp_path: Path) -> None:
    classify(checkout)
    copy = tmp_path / NAMES[0]
    copy.write_bytes((checkout / "results" / NAMES[0]).read_bytes())
    classify(copy)
    assert len(held()) == 4


def test_a_file_of_the_name_of_one_that_is_gone_and_with_other_tasks_is_another_file(
    checkout: Path, tmp_path: Path
) -> None:
    (gone := checkout / "results" / "all.json").write_text(json.dumps([{"id": "1", "messages": CHAT}]))
    classify(gone)
    gone.unlink()
    (tmp_path / "all.json").write_text(json.dumps([{"id": "2", "messages": CHAT}]))
    classify(tmp_path / "all.json")
    assert [name for _, _, name in held()] == ["2", "1"]


def test_a_file_goes_on_in_the_place_whose_path_is_most_like_its_own(checkout: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (checkout / folder).mkdir()
        (checkout / folder / "gpt-5_c.json").write_text(json.dumps({"messages": CHAT}))
    classify(checkout)
    moved = checkout.rename(tmp_path / "elsewhere")
    classify(moved / "two" / "gpt-5_c.json")
    assert {path for path, _, name in held() if name == "c"} == {
        str(checkout / "one" / "gpt-5_c.json"), str(moved / "two" / "gpt-5_c.json"),
    }  # fmt: skip


def test_a_member_of_an_archive_that_was_moved_is_the_same_file(checkout: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(first := tmp_path / "all.zip", "w") as archive:
        for name in NAMES:
            archive.write(checkout / "results" / name, name)
    classify(first)
    (tmp_path / "away").mkdir()
    classify(first.rename(tmp_path / "away" / "all.zip"))
    assert {path for path, _, _ in held()} == {f"{tmp_path}/away/all.zip/{name}" for name in NAMES}
