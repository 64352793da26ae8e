"""Captures a model's trajectory from any MCP client: a pass-through for one server, a whole fleet, or in code."""

from replay.recorder.recorder import Recorder

__all__ = ["Recorder"]
