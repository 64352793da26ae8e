"""Vectors for texts: from the cache, and only what is not there from the model.

The cache is an SQLite file in the user's cache directory: vectors by the model's fingerprint and the text.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_dir

from replay.alignment.encoder import Encoder, find_model, load_encoder, model_fingerprint
from replay.alignment.matching import Vectors
from replay.safety.filesystem import lock_file

T = TypeVar("T")

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many texts of how many are done, while the model works."""

_KEPT_AT_ONCE = 256
"""An interrupted run has made at most so many vectors in vain."""
_VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS embeddings (
  model TEXT NOT NULL,    -- the model's model_fingerprint
  text BLOB NOT NULL,     -- SHA-256 of the text in UTF-8
  vector BLOB NOT NULL,   -- 32-bit floats, little-endian, of length 1
  PRIMARY KEY (model, text)
);
CREATE TABLE IF NOT EXISTS digests (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, sha256 TEXT NOT NULL
);
"""
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
"""What SQLite says of a damaged file, or of one with other tables."""
_AT_ONCE = 500
_UNIT = 1e-3


def default_path() -> Path:
    """Where the cache stands: under the user's cache directory."""
    return Path(user_cache_dir("mcp-replay", appauthor=False)) / "embeddings.sqlite3"


class EmbeddingCache:
    """Vectors by model and text. A damaged file is rebuilt; one that cannot be used is done without.

    Args:
        path: of the file; None keeps everything in memory.
        warn: takes one line about what went wrong.
    """

    def __init__(self, path: Path | None, warn: Callable[[str], None]) -> None:
        self._path, self._warn = path, warn
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def load(self, model: str, texts: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are known, each of shape (dimension,)."""
        by_key = {_key(text): text for text in texts}
        rows = self._attempt(lambda db: list(_select(db, model, list(by_key)))) or []
        return {by_key[key]: vector for key, blob in rows if (vector := _vector(blob)) is not None}

    def save(self, model: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors of length 1; one that another process kept meanwhile stays."""
        rows = [(model, _key(text), vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
        self._write("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)

    def sha256(self, file: Path) -> str:
        """Digest of a file's content, hexadecimal; worked out once for a file that does not change."""
        state = file.stat()
        identity = (str(file.absolute()), state.st_size, state.st_mtime_ns)
        query = "SELECT sha256 FROM digests WHERE path = ? AND size = ? AND changed = ?"
        found = self._attempt(lambda db: db.execute(query, identity).fetchone())
        if found is not None:
            return str(found[0])
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        self._write("INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?)", [(*identity, digest)])
        return digest

    def _write(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany(statement, rows)

        self._attempt(write)

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the file; where it is damaged, again with a new one; where it cannot be used, not."""
        for last in (False, True):
            try:
                return action(self._open())
            except (sqlite3.Error, OSError) as error:
                broken = getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN
                self.close()
                if last or not broken or not self._rebuild(str(error)):
                    self._give_up(str(error))
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path or ":memory:", timeout=30)
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            _prepare(connection)
        return self._connection

    def _rebuild(self, why: str) -> bool:
        """Put a new file in the place of a damaged one, unless another process just did."""
        if self._path is None:
            return False
        try:
            with os.fdopen(lock_file(Path(f"{self._path}.lock"), wait=None)):
                if not _is_sound(self._path):
                    for suffix in ("", "-wal", "-shm"):
                        Path(f"{self._path}{suffix}").unlink(missing_ok=True)
                    self._warn(f"{self._path}: the embedding cache was damaged ({why}); it is rebuilt")
        except OSError:
            return False
        return True

    def _give_up(self, why: str) -> None:
        if self._path is not None:
            self._warn(f"{self._path}: the embedding cache cannot be used ({why}); going on without it")
            self._path = None


def _prepare(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == _VERSION:
        return
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_VERSION}; COMMIT;")


def _select(db: sqlite3.Connection, model: str, keys: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        placeholders = ", ".join("?" * len(some))
        yield from db.execute(
            f"SELECT text, vector FROM embeddings WHERE model = ? AND text IN ({placeholders})",  # noqa: S608
            (model, *some),
        )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _vector(blob: bytes) -> NDArray[np.float32] | None:
    """The vector of a row; None where it is not one of length 1, that is, damaged."""
    if not isinstance(blob, bytes) or not blob or len(blob) % 4:
        return None
    vector = np.frombuffer(blob, "<f4").astype(np.float32, copy=False)
    length = float(vector @ vector)
    return vector if abs(length - 1.0) < _UNIT or not vector.any() else None


def _is_sound(path: Path) -> bool:
    """Whether a file can be read throughout and has our tables."""
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(path, timeout=30)
        try:
            _prepare(connection)
            connection.execute("SELECT path, size, changed, sha256 FROM digests LIMIT 1").fetchone()
            connection.execute("SELECT model, text, vector FROM embeddings LIMIT 1").fetchone()
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
        finally:
            connection.close()
    return False


class Embedder:
    """Makes vectors of length 1, each distinct text once.

    Args:
        model: as the user named it, or None for the default.
        cache: path of the cache file; None does without.
        warn: takes one line about the cache.
        encoder: makes the vectors; by default the model in this process.

    Raises:
        UsageError: the model is neither a directory nor can it be a name.
    """

    def __init__(
        self, model: str | None, cache: Path | None, warn: Callable[[str], None], encoder: Encoder | None = None
    ) -> None:
        self.model = find_model(model)
        self._encoder = encoder
        self._asked, self._cache, self._warn = model, cache, warn

    def embed(self, texts: Collection[str], progress: Progress | None = None) -> Vectors:
        """The vector of each text. An empty collection needs no model.

        Raises:
            MissingExtraError: the model must run, and the extra `align` is not installed.
            InputError: the bundled weights are not the upstream ones.
            UsageError: the model cannot be loaded.
        """
        if not texts:
            return {}
        with closing(EmbeddingCache(self._cache, self._warn)) as cache:
            model_id = model_fingerprint(self.model, cache.sha256)
            vectors = cache.load(model_id, texts) if model_id else {}
            missing = sorted(text for text in texts if text not in vectors)
            if missing:
                vectors |= self._encode(missing, model_id, cache, progress)
        return vectors

    def _encode(
        self, texts: list[str], model_id: str | None, cache: EmbeddingCache, progress: Progress | None
    ) -> dict[str, NDArray[np.float32]]:
        encoder = self._encoder or load_encoder(self.model)
        model_id = model_id or model_fingerprint(find_model(self._asked), cache.sha256) or f"hub:{self.model.name}"
        made: dict[str, NDArray[np.float32]] = {}
        unsaved: dict[str, NDArray[np.float32]] = {}
        for batch, vectors in encoder.encode(texts):
            unsaved.update(zip(batch, vectors, strict=True))
            made |= unsaved
            if progress:
                progress(len(made), len(texts))
            if len(unsaved) >= _KEPT_AT_ONCE:
                cache.save(model_id, unsaved)
                unsaved = {}
        cache.save(model_id, unsaved)
        return made
