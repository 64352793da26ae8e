"""Replays and diagnoses the tool-call trajectories of MCP agents."""

__version__ = "0.1.0"
