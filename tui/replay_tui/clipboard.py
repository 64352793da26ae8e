"""What the terminal is asked to take, and the file for terminals that do not take it."""

from __future__ import annotations

from pathlib import Path

import platformdirs


def default_clipboard_file() -> Path:
    """Where copied text is kept for terminals that do not take it."""
    return Path(platformdirs.user_state_path("mcp-replay")) / "copied.md"


def encodable(text: str) -> str:
    """Text without what cannot be encoded."""
    return text.encode("utf-8", "replace").decode()
