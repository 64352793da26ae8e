"""Opens the results file where a trajectory begins, in the user's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Final

from replay.runfile.trajectory_queries import StoredTrajectory
from replay.safety.text import printable

_MAX_SEARCHED: Final = 50_000_000
"""Bytes of a results file that are searched for a trajectory's line."""


def source_location(stored: StoredTrajectory) -> tuple[Path, int | None, str]:
    """The source file of a trajectory, the line where it begins as far as that can be told, and its position there."""
    source = stored.record.source
    path = Path(stored.path)
    if source.position.startswith("line "):
        return path, int(source.position.split()[1].rstrip(",")), source.position
    return path, _line_of(path, stored.record.id), source.position


def open_in_editor(path: Path, line: int | None) -> str | None:
    """Run the user's editor on a place; the reason where that cannot be."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        return "set $EDITOR to open it from here"
    if not path.exists():
        return "the file is not there any more"
    command = [*shlex.split(editor), *([f"+{line}"] if line else []), str(path)]
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        return f"{printable(editor)}: {error.strerror}"
    return None


def _line_of(path: Path, name: str) -> int | None:
    """The first line that holds the id as a JSON string."""
    try:
        if path.stat().st_size > _MAX_SEARCHED:
            return None
        needle = f'"{name}"'.encode("utf-8", "replace")
        with path.open("rb") as file:
            return next((number for number, line in enumerate(file, 1) if needle in line), None)
    except OSError:
        return None
