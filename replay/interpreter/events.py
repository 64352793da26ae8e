"""What becomes of the servers, for whoever shows progress."""

from __future__ import annotations

from collections.abc import Callable
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


OnEvent = Callable[[ServerEvent], None]


class Notes:
    """Sentences about a server, each once, in the order in which they came up."""

    _MOST = 50

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}

    def add(self, sentence: str) -> None:
        """Keep it, unless there are too many already."""
        if len(self._sentences) < self._MOST:
            self._sentences.setdefault(sentence)

    def all(self) -> tuple[str, ...]:
        """All that were kept."""
        return tuple(self._sentences)
