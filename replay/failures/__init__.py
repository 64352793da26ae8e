"""Failures that are known again from run to run: fingerprints, when each was seen, and what is known of it."""
