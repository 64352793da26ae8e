"""The sweep and the end of a workspace touch what this program made, and nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from replay.interpreter import owned_directory
from replay.interpreter.owned_directory import MARKER, base_directory, make_owned_directory, remove_abandoned

OURS = {"program": "mcp-replay", "version": "0", "uid": os.geteuid(), "pid": 1}


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir(mode=0o755)
    base_directory().mkdir(mode=0o700, parents=True)
    yield base_directory()
    monkeypatch.undo()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def abandoned(path: Path, marker: object = OURS) -> Path:
    path.mkdir(mode=0o700)
    (path / MARKER).write_text(json.dumps(marker))
    (path / "kept.txt").write_text("kept")
    return path


def test_what_a_killed_process_left_is_swept(base: Path) -> None:
    left = abandoned(base / "left")
    remove_abandoned()
    assert not left.exists()


def test_the_sweep_leaves_what_is_not_marked_as_ours(base: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "temporary" / "replay-venv"
    foreign.mkdir()
    (foreign / ".lock").touch()
    os.utime(foreign / ".lock", (0, 0))
    kept = [
        foreign / ".lock",
        abandoned(base / "other-program", {**OURS, "program": "uv"}) / "kept.txt",
        abandoned(base / "other-user", {**OURS, "uid": os.geteuid() + 1}) / "kept.txt",
        abandoned(base / "no-object", []) / "kept.txt",
    ]
    (base / "unmarked").mkdir()
    (base / "a-file").touch()
    os.mkfifo(base / "unmarked" / MARKER)
    remove_abandoned()
    assert all(path.exists() for path in [*kept, base / "unmarked", base / "a-file"])


def test_the_sweep_leaves_a_workspace_in_use(base: Path) -> None:
    home = make_owned_directory()
    remove_abandoned()
    assert home.path.is_dir()
    home.remove()
    assert not any(base.iterdir())


def test_the_sweep_follows_no_link(base: Path, tmp_path: Path) -> None:
    outside = abandoned(tmp_path / "outside")
    outside.chmod(0o755)
    (base / "replay-evil").symlink_to(outside)
    linked_marker = base / "linked"
    linked_marker.mkdir()
    (linked_marker / MARKER).symlink_to(outside / MARKER)
    inside = abandoned(base / "inside")
    (inside / "link").symlink_to(outside)
    remove_abandoned()
    assert not inside.exists()
    assert (outside / "kept.txt").exists()
    assert linked_marker.exists()
    assert mode(outside) == 0o755
    assert mode(tmp_path / "temporary") == 0o755


def test_removing_touches_nothing_outside(base: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "file").chmod(0o400)
    home = make_owned_directory()
    (home.path / "directory").symlink_to(outside)
    (home.path / "file").hardlink_to(tmp_path / "file")
    closed = home.path / "closed"
    (closed / "inner").mkdir(parents=True)
    (closed / "inner" / "up").symlink_to("../../..")
    (closed / "inner").chmod(0)
    closed.chmod(0)
    home.remove()
    assert not any(base.iterdir())
    assert mode(outside) == 0o500
    assert mode(tmp_path / "file") == 0o400


def test_a_tree_deeper_than_the_stack_is_removed(base: Path) -> None:
    home = make_owned_directory()
    here = os.open(home.path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    home.remove()
    assert not any(base.iterdir())


def test_each_directory_is_ours_alone_and_says_whose_it_is(base: Path) -> None:
    home = make_owned_directory()
    assert mode(base) == mode(home.path) == 0o700
    marker = json.loads((home.path / MARKER).read_text())
    assert (marker["program"], marker["uid"], marker["pid"]) == ("mcp-replay", os.geteuid(), os.getpid())
    with (home.path / MARKER).open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    home.remove()


def test_a_base_directory_open_to_others_is_refused_for_a_private_one(base: Path) -> None:
    base.chmod(0o777)
    home = make_owned_directory()
    assert base not in home.path.parents
    assert mode(home.path.parent) == 0o700
    assert "other users may enter it (mode 777)" in str(home.note)
    assert mode(base) == 0o777
    home.remove()
    assert not home.path.parent.exists()


def test_the_base_directory_of_another_user_is_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = abandoned(base / "left")
    us = os.geteuid()
    open_private = owned_directory._open_private

    def as_another_user(path: Path) -> int:
        with monkeypatch.context() as patch:
            if path == base:
                patch.setattr(os, "geteuid", lambda: us + 1)
            return open_private(path)

    monkeypatch.setattr(owned_directory, "_open_private", as_another_user)
    home = make_owned_directory()
    assert base not in home.path.parents
    assert f"it belongs to another user ({us})" in str(home.note)
    home.remove()
    remove_abandoned()
    assert left.exists()


def test_a_base_directory_that_is_a_link_is_refused(base: Path, tmp_path: Path) -> None:
    base.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    left = abandoned(tmp_path / "elsewhere" / "left")
    base.symlink_to(tmp_path / "elsewhere")
    remove_abandoned()
    home = make_owned_directory()
    assert tmp_path / "elsewhere" not in home.path.resolve().parents
    home.remove()
    assert left.exists()
