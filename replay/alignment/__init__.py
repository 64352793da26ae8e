"""Alignment with a reference: signatures, embeddings, matching, metrics."""

from replay.alignment.aligner import Alignment, AlignmentSettings, Results, align_model, signatures_to_embed
from replay.alignment.tasks import Reference, SignedTask, pair_ids, read_reference, sign

__all__ = [
    "Alignment",
    "AlignmentSettings",
    "Reference",
    "Results",
    "SignedTask",
    "align_model",
    "pair_ids",
    "read_reference",
    "sign",
    "signatures_to_embed",
]
