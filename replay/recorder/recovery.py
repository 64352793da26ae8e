"""Finishes a recording that was interrupted, or damaged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from replay.errors import InputError, UsageError
from replay.recorder.journal import JOURNAL_FORMAT, JOURNAL_VERSION, Journal, entry_of
from replay.recorder.trajectory_paths import free_name, stem_of, target_of


def recover(partial: Path, target: Path | None = None) -> str:
    """Turn a `FILE.partial` that a recorder left behind into `FILE`, or the next free name, and remove it.

    Args:
        partial: the recording. Where lines of it cannot be read, a copy of it stays beside it.
        target: the trajectory file, where it is to be another.

    Returns:
        What was written, in words.

    Raises:
        InputError: there is no such file, or it is not a recording.
        UsageError: its recorder is still at work, or `target` is there already.
    """
    if not partial.is_file():
        raise InputError(str(partial), "there is no such file")
    if target is not None and target.exists():
        raise UsageError(f"{target} exists; name another with -o")
    journal = Journal(partial, timeout=0)
    try:
        if journal.empty:
            raise InputError(str(partial), "is empty: nothing had been recorded")
        saved = write_recovered(partial, target or target_of(partial))
    except BaseException:
        journal.close()
        raise
    journal.close(remove=True)
    return saved


def write_recovered(partial: Path, target: Path) -> str:
    """Write the trajectory of a partial file whose lock the caller holds, and which the caller will clear."""
    from replay.recorder.assembly import write_assembled

    entries = _ReadableEntries(partial)
    written = write_assembled(entries, free_name(target))
    if not entries.lost:
        return written
    kept = partial.with_name(f"{partial.name}.damaged")
    shutil.copyfile(partial, kept)
    lines = "1 line" if entries.lost == 1 else f"{entries.lost} lines"
    return f"{written} ({lines} could not be read; {kept} has what was there)"


class _ReadableEntries:
    """The entries of a recording that can be read, the header first; of one whose header is lost, what is known."""

    def __init__(self, partial: Path) -> None:
        self._partial = partial
        self.lost = 0
        """Whole lines that could not be read; the last one of a recording that was cut off is none."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        entries = self._lines()
        first = next(entries, None)
        if first is None or ("event" not in first and first.get("format") != JOURNAL_FORMAT):
            raise InputError(
                str(self._partial), f'expected a recording ({{"format": "{JOURNAL_FORMAT}", ...}})', "line 1"
            )
        header: dict[str, Any] = {"id": stem_of(target_of(self._partial)), "model": "unknown"}
        if "event" in first:
            yield header
            yield first
        else:
            if first.get("version") != JOURNAL_VERSION:
                raise InputError(str(self._partial), f"recording version {first.get('version')} is not known", "line 1")
            task = first.get("task")
            yield {**header, **first, "task": task if isinstance(task, str) else None}
        yield from (entry for entry in entries if "event" in entry)

    def _lines(self) -> Iterator[dict[str, Any]]:
        try:
            with self._partial.open("rb") as file:
                for line in file:
                    entry = entry_of(line)
                    if entry is not None and line.endswith(b"\n"):
                        yield entry
                    elif line.endswith(b"\n"):
                        self.lost += 1
        except OSError as error:
            raise InputError(str(self._partial), f"cannot be read: {error.strerror}") from error
