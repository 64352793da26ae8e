"""Calls that stand in several files: a session that is resumed or forked begins with a copy of the one before."""

from __future__ import annotations

from replay.formats.results_file import FileSummary


class RepeatedCalls:
    """Counts the calls that several files hold; the order of the files does not matter."""

    def __init__(self) -> None:
        self._first_file: dict[str, str] = {}
        """By the id of a call."""
        self._files: set[str] = set()
        self._calls = self._repeated = 0

    def note(self, file: FileSummary) -> None:
        """Take note of a file that was looked through."""
        own = set(file.call_ids)
        self._calls += len(own)
        for identifier in own:
            first = self._first_file.setdefault(identifier, file.path)
            if first != file.path:
                self._repeated += 1
                self._files |= {first, file.path}

    def sentence(self) -> str | None:
        """What to tell of them; None where no call is repeated."""
        if not self._repeated:
            return None
        distinct, files = self._calls - self._repeated, len(self._files)
        return (
            f"{self._repeated:,} of {self._calls:,} calls repeat calls of other files ({files:,} files share some), as "
            f"sessions do that were resumed or forked: they are counted in each, and {distinct:,} are distinct"
        )
