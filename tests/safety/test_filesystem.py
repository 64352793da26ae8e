from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from replay.safety.filesystem import atomic_writer, lock_file, write_atomically


def write_half(path: Path) -> None:
    with atomic_writer(path) as out:
        out.write("sec")
        raise KeyboardInterrupt


def test_a_file_takes_its_place_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_atomically(path, "first")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_utf8_cannot_hold_is_written_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write_atomically(path, "a\ud800b", "replace")
    assert path.read_bytes() == b"a?b"
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "a\ud800b")
    assert path.read_bytes() == b"a?b"


def test_a_lock_is_held_by_one_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = lock_file(path)
    with pytest.raises(BlockingIOError):
        lock_file(path)
    os.close(first)
    os.close(lock_file(path))


def test_a_lock_that_is_waited_for_is_the_one_at_the_path(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = lock_file(path)
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.append(lock_file(path, wait=60)))
    waiting.start()
    path.unlink()
    os.close(first)
    waiting.join()
    assert os.path.samestat(os.fstat(found[0]), path.stat())
    os.close(found[0])


def test_an_error_while_writing_names_the_file_that_was_to_be(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as full, atomic_writer(tmp_path / "r.html"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []
