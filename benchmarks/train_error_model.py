"""Trains the model that tells a sentence without an error flag from an answer: `replay/outcomes/words/error_model.npz`.

It learns from the labelled answers of all sets that are there, and from the general sentences of
`error_sentences.txt`. Run it after either has changed: `python benchmarks/train_error_model.py`. Needs scikit-learn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from labelled_answers import Case, all_cases
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from replay.dag.value_matching import ArgumentIndex
from replay.outcomes.answer import ParsedAnswer
from replay.outcomes.envelopes.json_errors import sole_text
from replay.outcomes.words.error_model import BUCKETS, CLASSES, ErrorModel, blank_model, columns_of, norm, using

SENTENCES = Path(__file__).with_name("error_sentences.txt")
WEIGHTS = Path(__file__).parents[1] / "replay" / "outcomes" / "words" / "error_model.npz"
MAX_LENGTH = 4000
COPIES = 3
STRENGTH = 20.0
_TOOLS = """
    get_item create_item run_action update_record lookup check_status list_items send open_page select generate
    convert calculate search_items fetch_data insert_row
""".split()  # noqa: SIM905 a list would take a line a word
_NAMES = """
    alpha Berlin report.txt user_name 2024-05-01 42 north-west invoice budget Ümlaut 季度 заказ main
""".split()  # noqa: SIM905 a list would take a line a word
_FRAMES = ("{}", "{}", "{}", "{}", "Error: {}", "Failed: {}", "❌ {}", "Sorry. {}", "{} Details follow.")


class Sample(NamedTuple):
    """One text to learn from: its buckets, and how much it counts for each class."""

    columns: Sequence[int]
    shares: dict[str, float]
    weight: float


def samples_of(cases: Sequence[Case]) -> list[Sample]:
    """The short answers among labelled cases."""
    return [sample for case in cases for sample in _sample(case)]


def written_samples() -> list[Sample]:
    """The general sentences, each a few times with other names, numbers and tools."""
    chance = random.Random(20)
    made = []
    for outcome, sentence in sentences():
        for _ in range(COPIES):
            value = chance.choice(_NAMES)
            text = _filled(sentence, value, chance)
            if outcome != "success":
                text = chance.choice(_FRAMES).format(text)
            brings = {"value": value} if chance.random() < 0.5 or "{v}" in sentence else {"count": 3}
            arguments = ArgumentIndex(brings, tool_name=chance.choice(_TOOLS))
            made.append(Sample(columns_of(text, arguments), {outcome: 1.0}, 1 / COPIES))
    return made


def sentences() -> Iterator[tuple[str, str]]:
    """Outcome and sentence."""
    outcome = ""
    for line in SENTENCES.read_text("utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            outcome = line[1:-1]
        elif line.strip() and not line.startswith("#"):
            yield outcome, line.replace("\\n", "\n")


def trained(samples: Sequence[Sample]) -> ErrorModel:
    """The model that these samples make."""
    rows: list[tuple[Sequence[int], int, float]] = []
    for sample in samples:
        rows += [(sample.columns, CLASSES.index(name), share * sample.weight) for name, share in sample.shares.items()]
    data = np.concatenate([np.full(len(columns), 1 / norm(len(columns))) for columns, _, _ in rows])
    indices = np.concatenate([np.asarray(columns) for columns, _, _ in rows])
    offsets = np.concatenate([[0], np.cumsum([len(columns) for columns, _, _ in rows])])
    matrix = csr_matrix((data, indices, offsets), shape=(len(rows), BUCKETS))
    learner = LogisticRegression(C=STRENGTH, max_iter=300, tol=1e-3)
    learner.fit(matrix, [outcome for _, outcome, _ in rows], sample_weight=[weight for _, _, weight in rows])
    return ErrorModel(learner.coef_.astype(np.float32), learner.intercept_)


def _sample(case: Case) -> Iterator[Sample]:
    kinds = [outcome for outcome in case.accepted if outcome in CLASSES]
    if not kinds or (len(kinds) > 1 and "success" in kinds) or case.call.name is None:
        return
    with using(blank_model()):
        parsed = ParsedAnswer(case.call, case.answer, case.tool, case.violations)
    text = parsed.text if parsed.body is None else sole_text(parsed.body) or ""
    if not text.strip() or len(text) > MAX_LENGTH:
        return
    yield Sample(columns_of(text, parsed.arguments), {kind: 1 / len(kinds) for kind in kinds}, 1.0)


def _filled(sentence: str, value: str, chance: random.Random) -> str:
    quote = chance.choice(["'{}'", '"{}"', "`{}`", "{}"])
    sentence = sentence.replace("{v}", value)
    sentence = re.sub(r"\{q\}", lambda _: quote.format(chance.choice(_NAMES)), sentence)
    return re.sub(r"\{n\}", lambda _: str(chance.randrange(2, 3000)), sentence)


def main() -> None:
    model = trained([*samples_of(all_cases()), *written_samples()])
    arrays: dict[str, Any] = {"weights": model.weights.astype(np.float16), "bias": model.bias}
    np.savez_compressed(WEIGHTS, **arrays)
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
