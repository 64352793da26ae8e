"""The stored answers that the command has, for a worker: those of a unit in one message."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from replay.cluster.mailbox import Mailbox
from replay.records import Answer

MAX_BYTES: Final = 8_000_000
"""In one message; what does not fit is asked for when it is needed."""
_PATIENCE: Final = 600.0
"""Seconds to wait for the command."""


def look_up(keys: Iterable[str], stored: Callable[[str], Answer | None]) -> dict[str, bytes | None]:
    """The answers under keys, pickled, None where there is none; the first at least, and as many as fit.

    Args:
        keys: as a worker asks for them.
        stored: looks one up.
    """
    found: dict[str, bytes | None] = {}
    size = 0
    for key in keys:
        answer = stored(key)
        found[key] = None if answer is None else pickle.dumps(answer)
        size += len(found[key] or b"")
        if size > MAX_BYTES:
            break
    return found


class StoredAnswers:
    """What a worker knows of them.

    Args:
        mailbox: to the command.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._here: dict[str, bytes | None] = {}

    def get(self, key: str) -> Answer | None:
        """The answer under a key; None where there is none."""
        here = self._here  # another thread may put another one there
        found = here[key] if key in here else self._ask([key])[key]
        answer: Answer | None = None if found is None else pickle.loads(found)  # noqa: S301 - from the command
        return answer

    @contextmanager
    def fetched(self, keys: Iterable[str]) -> Iterator[None]:
        """Have the answers under keys here while the block runs."""
        wanted = list(dict.fromkeys(keys))
        if wanted:
            self._here = self._here | self._ask(wanted)
        try:
            yield
        finally:
            gone = set(wanted)
            self._here = {key: answer for key, answer in self._here.items() if key not in gone}

    def _ask(self, keys: list[str]) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = self._mailbox.ask("stored", keys).result(_PATIENCE)
        return found
