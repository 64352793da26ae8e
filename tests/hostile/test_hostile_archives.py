"""Ids that no file system takes, and archives made to be slow."""

from __future__ import annotations

import io
import json
import random
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.formats import open_files
from replay.formats.file_names import FileNames
from replay.safety.filesystem import file_stem

Replay = Callable[..., subprocess.CompletedProcess[str]]
STEPS = [{"step": 1, "calls": [{"name": "s/x", "arguments": {}, "result": "ok"}]}]
IDS = [
    "漢" * 150, "é" * 300, "🔑" * 200, "a" * 1000, "é" * 300 + "/../" * 3, "ﷺ" * 150, "n\u0303" * 200, "кот" * 60,
    "한" * 84, "😀x" * 100, "ä" * 118, "\ud800" * 10 + "é" * 200,
]  # fmt: skip


def record(identifier: str) -> dict[str, object]:
    return {"id": identifier, "question": "?", "steps": STEPS}


@pytest.mark.parametrize("verb", ["convert", "export"])
def test_a_long_id_of_whatever_letters_names_a_file(tmp_path: Path, replay: Replay, verb: str) -> None:
    (tmp_path / "a.json").write_text(json.dumps([record(identifier) for identifier in (*IDS, *IDS[:3], "plain")]))
    if verb == "convert":
        done = replay("convert", "a.json", "-o", "out")
    else:
        assert replay("classify", "a.json", "--offline").returncode == 0
        done = replay("export", "--format", "openai", "-o", "out")
    assert done.returncode == 0, done.stderr
    written = list((tmp_path / "out").iterdir())
    assert len(written) == len({*IDS, "plain"})
    assert all(path.parent == tmp_path / "out" for path in written)


@pytest.mark.parametrize("seed", range(10))
def test_a_stem_leaves_room_in_bytes(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(200):
        letters = dice.choice(["aé", "漢字", "🔑🔒", "a/\\.\0\n", "ßﷺ", "\ud800x", "..", " ~-"])
        name = "".join(dice.choices(letters, k=dice.randint(0, 400)))
        stem = file_stem(name, 150)
        assert len(stem) <= 150
        assert len(f"{stem}-123.trajectory.json".encode()) <= 255
        assert not {"/", "\0", "\\"} & set(stem)
        assert not stem.startswith(".")


def archive(path: Path, members: int, *, method: int = zipfile.ZIP_DEFLATED, kind: str = "json") -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        for number in range(members):
            packed.writestr(f"runs/{number:05}.{kind}", json.dumps([record(f"t{number}")]))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("members", [1, 300])
def test_a_zip_is_opened_as_often_however_many_members_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, members: int, method: int
) -> None:
    opened: list[object] = []

    class Counted(zipfile.ZipFile):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            opened.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(zipfile, "ZipFile", Counted)
    path = archive(tmp_path / "runs.zip", members, method=method)
    opened.clear()
    files = list(open_files([path], FileNames(None)))
    assert sum(len(list(file.trajectories())) for file in files) == members
    assert len(opened) <= 2


def test_members_are_read_again_and_in_any_order(tmp_path: Path) -> None:
    path = archive(tmp_path / "runs.zip", 20)
    files = list(open_files([path], FileNames(None)))
    random.Random(1).shuffle(files)
    for _ in range(2):
        assert {trajectory.id for file in files for trajectory in file.trajectories()} == {f"t{n}" for n in range(20)}


@pytest.mark.parametrize("how", ["truncated", "one member broken", "a lying size", "encrypted", "no directory"])
def test_a_broken_zip_is_refused_in_a_sentence(tmp_path: Path, how: str) -> None:
    path = archive(tmp_path / "runs.zip", 5)
    data = bytearray(path.read_bytes())
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "one member broken":
        data[60:70] = bytes(10)
    elif how == "a lying size":
        at = data.index(b"PK\1\2")
        data[at + 24 : at + 28] = b"\xff\xff\xff\x7f"
    elif how == "encrypted":
        data[data.index(b"PK\1\2") + 8] |= 1
        data[6] |= 1
    else:
        data = data[: data.index(b"PK\1\2")]
    path.write_bytes(data)
    errors: list[str] = []
    for file in open_files([path], FileNames(None), lambda error: errors.append(str(error))):
        list(file.trajectories())
    assert len(errors) >= (0 if how == "a lying size" else 1)
    assert all("\n" not in error for error in errors)


@pytest.mark.hostile
def test_forty_thousand_members_are_listed_one_after_the_other(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for number in range(40_000):
            file.writestr(f"{number}.json", "[]" if number else json.dumps([record("t")]))
    (tmp_path / "runs.zip").write_bytes(packed.getvalue())
    errors: list[str] = []
    files = list(open_files([tmp_path / "runs.zip"], FileNames(None), lambda error: errors.append(str(error))))
    assert sum(file.calls for file in files) == 1
