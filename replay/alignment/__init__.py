"""Alignment with a reference: signatures, embeddings, matching, metrics."""
