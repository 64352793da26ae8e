"""What becomes of the servers, for whoever shows progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from replay.records import Record


class ServerEvent(Record):
    """Something happened to a server."""

    server: str
    kind: Literal["starting", "started", "failed", "restarted"]
    message: str = ""
    """Why it failed, or was restarted."""
    trajectory: str | None = None
    """Whose own process it is; None for a shared one."""
    log: Path | None = None
    """Where what it wrote to stderr stands, which is often the reason; None if it wrote nothing."""


OnEvent = Callable[[ServerEvent], None]
