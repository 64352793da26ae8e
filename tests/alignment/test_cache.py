"""The cache: what it keeps, and what it does with damage and with company."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from replay.alignment.embedding_cache import EmbeddingCache

from .builders import vectors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "embeddings.sqlite3"


def fill(path: Path, texts: str, warnings: list[str]) -> None:
    cache = EmbeddingCache(path, warnings.append)
    cache.save("m", vectors(texts))
    cache.close()


def known(path: Path, texts: str, warnings: list[str], model: str = "m") -> set[str]:
    cache = EmbeddingCache(path, warnings.append)
    found = cache.load(model, list(texts))
    cache.close()
    for text, vector in found.items():
        np.testing.assert_array_equal(vector, vectors([text])[text])
    return set(found)


def test_keeps_vectors_by_model_and_text(path: Path) -> None:
    warnings: list[str] = []
    fill(path, "abc", warnings)
    assert known(path, "abx", warnings) == {"a", "b"}
    assert known(path, "abc", warnings, model="other") == set()
    assert warnings == []


def test_more_texts_than_sqlite_takes_parameters(path: Path) -> None:
    texts = [str(number) for number in range(1203)]
    cache = EmbeddingCache(path, pytest.fail)
    cache.save("m", vectors(texts))
    assert len(cache.load("m", texts)) == 1203
    cache.close()


@pytest.mark.parametrize("damage", ["garbage", "header", "truncated", "other tables", "empty"])
def test_a_damaged_file_is_rebuilt_with_one_line(path: Path, damage: str) -> None:
    warnings: list[str] = []
    texts = "".join(map(chr, range(97, 97 + 200)))
    fill(path, texts, warnings)
    content = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"not a database at all" * 100)
    elif damage == "header":
        path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    elif damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "other tables":
        _other_tables(path)
    else:
        path.write_bytes(b"")
    fill(path, "ab", warnings)
    assert known(path, "ab", warnings) == {"a", "b"}
    assert len(warnings) == (0 if damage == "empty" else 1)
    assert all("rebuilt" in line and str(path) in line and "\n" not in line for line in warnings)


def _other_tables(path: Path) -> None:
    import sqlite3

    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE embeddings (x); PRAGMA user_version = 1;")
    connection.close()


def test_a_damaged_vector_is_not_used(path: Path) -> None:
    import sqlite3

    warnings: list[str] = []
    fill(path, "ab", warnings)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE embeddings SET vector = zeroblob(10) WHERE rowid = 1")
    connection.commit()
    connection.close()
    assert len(known(path, "ab", warnings)) == 1


def test_a_place_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    warnings: list[str] = []
    cache = EmbeddingCache(tmp_path / "file" / "embeddings.sqlite3", warnings.append)
    cache.save("m", vectors("a"))
    cache.close()
    assert len(warnings) == 1
    assert "going on without it" in warnings[0]


def test_digests_are_remembered_until_the_file_changes(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    cache = EmbeddingCache(path, pytest.fail)
    first = cache.sha256(file)
    assert cache.sha256(file) == first
    file.write_bytes(b"other")
    assert cache.sha256(file) != first
    cache.close()


WRITER = """
import sys
from pathlib import Path
import numpy as np
from replay.alignment.embedding_cache import EmbeddingCache
cache = EmbeddingCache(Path(sys.argv[1]), lambda line: print(line, file=sys.stderr))
for number in range(30):
    vector = np.zeros(8, np.float32); vector[number % 8] = 1
    cache.save("m", {f"{sys.argv[2]}{number}": vector, f"both{number}": vector})
print(len(cache.load("m", [f"both{number}" for number in range(30)])))
cache.close()
"""


@pytest.mark.parametrize("damaged", [False, True])
def test_several_processes_at_once(path: Path, damaged: bool) -> None:
    if damaged:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 5000)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for name in ("a", "b", "c", "d")
    ]
    said = ""
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.strip() == "30", err
        said += err
    assert said.count("rebuilt") == said.count("\n") == int(damaged), said
    assert len(known_numbers(path)) == 150


def known_numbers(path: Path) -> dict[str, np.ndarray]:
    cache = EmbeddingCache(path, pytest.fail)
    found = cache.load("m", [f"{name}{number}" for name in ("a", "b", "c", "d", "both") for number in range(30)])
    cache.close()
    return found
