"""What stands around the content of an answer: JSON in strings, content blocks, reprs, headings, tags, labels."""

from replay.outcomes.envelopes.opening import open_answer

__all__ = ["open_answer"]
