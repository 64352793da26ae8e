"""Finishes a recording that was interrupted."""

from __future__ import annotations

from pathlib import Path

from replay.errors import InputError
from replay.recorder.journal import Journal
from replay.recorder.trajectory_paths import free_name, target_of


def recover(partial: Path) -> str:
    """Turn a `FILE.partial` that a recorder left behind into `FILE`, or the next free name, and remove it.

    Returns:
        What was written, in words.

    Raises:
        InputError: there is no such file, or it is not a recording.
        UsageError: its recorder is still at work.
    """
    if not partial.is_file():
        raise InputError(str(partial), "there is no such file")
    journal = Journal(partial, timeout=0)
    try:
        if journal.empty:
            raise InputError(str(partial), "is empty: nothing had been recorded")
        saved = write_recovered(partial, target_of(partial))
    except BaseException:
        journal.close()
        raise
    journal.close(remove=True)
    return saved


def write_recovered(partial: Path, target: Path) -> str:
    """Write the trajectory of a partial file whose lock the caller holds."""
    from replay.recorder.assembly import write_trajectory

    return str(write_trajectory(partial, free_name(target)))
