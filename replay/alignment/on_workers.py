"""`replay align` on several processes or machines: texts become vectors there, and models are matched there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from replay.alignment.aligner import Alignment, AlignmentSettings, Results, align_model, signatures_to_embed
from replay.alignment.encoder import Batch, Encoder, find_model, load_encoder
from replay.alignment.judges import Judges
from replay.alignment.matching import Vectors
from replay.alignment.tasks import Reference
from replay.replayer.pool import DoAll, Job

TEXTS_A_JOB: Final = 256
"""The same whatever the workers: how texts are put together decides the last bit of their vectors."""


class WorkersEncoder:
    """Makes vectors on workers.

    Args:
        model: as the user named it, or None for the default; each worker finds it by itself.
        do_all: of the workers.
    """

    def __init__(self, model: str | None, do_all: DoAll) -> None:
        self._model, self._do_all = model, do_all

    def encode(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Batches of texts with their vectors."""
        batches: list[Batch] = []
        starts = range(0, len(texts), TEXTS_A_JOB)
        self._do_all(
            Job(vectors_of, (self._model, texts[start : start + TEXTS_A_JOB]), batches.extend) for start in starts
        )
        yield from batches


def vectors_of(model: str | None, texts: Sequence[str]) -> list[Batch]:
    """The task that makes vectors."""
    return list(_encoder(model).encode(texts))


@cache
def _encoder(model: str | None) -> Encoder:
    return load_encoder(find_model(model))


def align_on_workers(
    do_all: DoAll,
    reference: Reference,
    results: Sequence[Results],
    vectors: Vectors,
    settings: AlignmentSettings,
    judges: Judges,
) -> list[Alignment]:
    """Align each model with the reference; gives them in the order of `results`."""
    aligned: dict[int, Alignment] = {}

    def job(number: int, model: Results) -> Job:
        needed = {text: vectors[text] for text in signatures_to_embed(reference, [model])}
        return Job(
            align_model,
            (reference, model, needed, settings, judges),
            lambda alignment: aligned.update({number: alignment}),
        )

    do_all(job(number, model) for number, model in enumerate(results))
    return [aligned[number] for number in range(len(results))]
