"""The replayer."""
