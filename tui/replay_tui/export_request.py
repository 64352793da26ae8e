"""What an export is, and the file that it ends in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from replay.safety.filesystem import write_atomically

ExportScope: TypeAlias = Literal["call", "filter", "run"]
"""The selected call, the calls that the filter matches, or the whole run."""


@dataclass(frozen=True)
class ExportRequest:
    """What was asked for."""

    format: str
    about: ExportScope
    path: Path


def write_whole(text: str, path: Path) -> None:
    """Write text to a file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text, "replace")
