"""A run with an alignment, made without a model: texts are alike as far as their letters are."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import numpy as np

from replay.alignment.aligner import AlignmentSettings, Results, align_model, signatures_to_embed
from replay.alignment.judges import Judges
from replay.alignment.output import RunStore
from replay.alignment.tasks import read_reference, sign
from replay.formats import open_file
from tests.tui.sample import calls, sample_run, task

REFERENCE = (
    task(
        "sales",
        "office",
        calls(
            ("excel/create_sheet", {"file": "q3-sales.xlsx"}, "Created"),
            ("excel/read_sheet", {"sheet": "sheet-81f3", "rows": 10}, "rows"),
            ("excel/sum_sheet", {"sheet": "sheet-81f3"}, "1841"),
            ("excel/save_sheet", {"sheet": "sheet-81f3"}, "saved"),
        ),
    ),
    task("films", "movies", calls(("tmdb/search", {"query": "Dune"}, "438631"), ("tmdb/film", {"id": 438631}, "Dune"))),
)


def aligned_run(directory: Path) -> Path:
    """The sample run of two models, aligned with a reference; the paths in it are relative."""
    with chdir(directory):
        path = sample_run(Path())
        Path("reference.json").write_text(json.dumps(REFERENCE))
        reference, store = read_reference(open_file(Path("reference.json")), {}), RunStore(path)
        results = [
            Results(str(file), opened.model, {one.id: sign(one) for one in opened.trajectories()}, store.outcomes(file))
            for file in ("ada_test_mcp_fuzzy.json", "bob_test_mcp_fuzzy.json")
            for opened in [open_file(Path(file))]
        ]
        vectors = {text: _letters(text) for text in signatures_to_embed(reference, results)}
        store.save(
            [align_model(reference, one, vectors, AlignmentSettings(encoder="letters"), Judges()) for one in results],
            reference,
        )
    return directory / "sample.db"


def _letters(text: str) -> np.ndarray:
    counts = np.zeros(128, np.float32)
    for letter in text:
        counts[ord(letter) % 128] += 1
    return counts / np.linalg.norm(counts)
