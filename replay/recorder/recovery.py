"""Finishing a recording that was cut off."""

from __future__ import annotations

from pathlib import Path

from replay.errors import InputError
from replay.recorder.journal import PARTIAL_SUFFIX, Journal


def recover(partial: Path) -> str:
    """Turn a `FILE.partial` that a recorder left behind into `FILE`, or the next free name, and remove it.

    Returns:
        What was written, in words.

    Raises:
        InputError: there is no such file, or it is no recording.
        UsageError: its recorder is still at work.
    """
    if not partial.is_file():
        raise InputError(str(partial), "there is no such file")
    journal = Journal(partial, patience=0)
    try:
        if journal.empty:
            raise InputError(str(partial), "is empty: nothing had been recorded")
        saved = recovered(partial, _target(partial))
    except BaseException:
        journal.close()
        raise
    journal.close(remove=True)
    return saved


def recovered(partial: Path, target: Path) -> str:
    """Write the trajectory of a partial file whose lock the caller holds."""
    from replay.recorder.assembly import write_trajectory
    from replay.recorder.output import free_name

    return str(write_trajectory(partial, free_name(target)))


def _target(partial: Path) -> Path:
    name = partial.name.removesuffix(PARTIAL_SUFFIX)
    return partial.with_name(name if name != partial.name else f"{name}.trajectory.json")
