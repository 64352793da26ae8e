"""Vectors for texts: from the cache, and only what is not there from the model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from replay.alignment.embedding_cache import EmbeddingCache
from replay.alignment.encoder import find_model, model_fingerprint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from replay.alignment.encoder import Encoder
    from replay.alignment.matching import Vectors

Progress: TypeAlias = Callable[[int, int], None]
"""Told how many texts of how many are done, while the model works."""

_KEPT_AT_ONCE = 256
"""An interrupted run has made at most so many vectors in vain."""


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
        from replay.alignment.encoder import load_encoder

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
