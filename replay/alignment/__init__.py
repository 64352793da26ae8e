"""Alignment with a reference: signatures, embeddings, matching, metrics."""

from replay.alignment.aligner import Alignment, AlignmentSettings, Results, align, signatures_to_embed
from replay.alignment.tasks import Reference, SignedTask, pair_ids, read_reference, sign

__all__ = [
    "Alignment",
    "AlignmentSettings",
    "Reference",
    "Results",
    "SignedTask",
    "align",
    "pair_ids",
    "read_reference",
    "sign",
    "signatures_to_embed",
]
