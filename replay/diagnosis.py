"""Verdicts to findings in words: what went wrong, where, and what would have been right."""
