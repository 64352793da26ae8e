"""Texts that stand further down in a report than what they are found with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final, Self

_IN_MEMORY: Final = 4_000_000
"""Bytes that are held before they go to a file, which nobody else can open."""


class Spool:
    """Takes texts and gives them back in their order, holding no more than a few megabytes."""

    def __enter__(self) -> Self:
        self._file = SpooledTemporaryFile(_IN_MEMORY)
        return self

    def __exit__(self, *problem: object) -> None:
        self._file.close()

    def add(self, text: str) -> None:
        """Put a text behind the others."""
        self._file.write(json.dumps(text).encode() + b"\n")

    def __iter__(self) -> Iterator[str]:
        """The texts from the first on; nothing may be added any more."""
        self._file.seek(0)
        return map(json.loads, self._file)
