"""What an export is, and the file that it ends in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from replay.filesystem import write_atomically


@dataclass(frozen=True)
class ExportRequest:
    """What was asked for."""

    format: str
    whole_run: bool
    """The whole run, not the one call."""
    path: Path


def write_whole(text: str, path: Path) -> None:
    """Write text to a file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text, "replace")
