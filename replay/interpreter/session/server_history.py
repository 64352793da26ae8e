"""What is known of a server across all its connections."""

from __future__ import annotations

from typing import Final

_MAX_NOTES: Final = 50


class ServerHistory:
    """Breaches of the specification that were met, and how to open a conversation."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self.login: object | None = None
        """How the server is logged in to, where it wants that; see `transports.login_of`."""
        self.tools_complete = True
        """Whether the list of its tools was read to its end, and has not changed since."""
        self.wants_initialize = False
        """Whether it is an older server: the next connection is initialized without asking first."""

    def note(self, sentence: str) -> None:
        """Keep a sentence, once, unless there are too many already."""
        if len(self._sentences) < _MAX_NOTES:
            self._sentences.setdefault(sentence)

    @property
    def notes(self) -> tuple[str, ...]:
        """All sentences, in the order in which they came up."""
        return tuple(self._sentences)
