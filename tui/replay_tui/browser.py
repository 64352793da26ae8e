"""What screens and widgets may ask of the app that they are in: the run, and where to go. The app imports them, so they
must not import it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from textual.app import App
from textual.message import Message

from replay.errors import RunFileError
from replay.runfile import Run, compare_queries
from replay.runfile import summary as count_queries
from replay.runfile.filters import Filter, Vocabulary, parse, read_vocabulary

FileChange: TypeAlias = Literal["none", "grown", "replaced", "gone"]
"""What happened to the file of the run."""
ExportScope: TypeAlias = Literal["call", "filter", "run"]
"""The selected call, the calls that the filter matches, or the whole run."""


class OpenRun:
    """A run file, read by the screens; everything they ask goes through here.

    Args:
        path: of the run file.
        label: how it is called on the screen; by default by its name.
        against: a second run, to compare with.

    Raises:
        RunFileError: there is none, it is not a run file, or it is newer than we are.
    """

    def __init__(self, path: Path, label: str | None = None, against: Path | None = None) -> None:
        self.path, self.label, self.against = path, label or path.name, against
        if against is not None:
            Run.read(against).close()  # says in words what is wrong with it
        self.run = self._open()
        self._seen = count_queries.data_version(self.connection)
        self._inode = _inode(path)
        self._gone = False
        self._vocabulary: Vocabulary | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """For short questions from the thread of the screens."""
        return self.run.connection

    @property
    def vocabulary(self) -> Vocabulary:
        """The names that the run knows, or knew a moment ago while it grows."""
        if self._vocabulary is None:
            self._vocabulary = read_vocabulary(self.connection)
        return self._vocabulary

    def set_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Take names that another thread read."""
        self._vocabulary = vocabulary

    def parse(self, text: str) -> Filter:
        """Read a filter.

        Raises:
            UsageError: it holds an unknown key or value.
        """
        return parse(text, self.vocabulary)

    @contextmanager
    def thread_connection(self) -> Iterator[Run | None]:
        """The same run for a thread of its own; None where the file vanished meanwhile."""
        try:
            run = self._open()
        except RunFileError:
            yield None
            return
        with run:
            yield run

    def _open(self) -> Run:
        run = Run.read(self.path)
        if self.against is not None:
            compare_queries.attach(run.connection, self.against)
        return run

    def check_file(self) -> FileChange:
        """What happened to the file since this was asked last."""
        inode = _inode(self.path)
        if inode is None:
            changed, self._gone = not self._gone, True
            return "gone" if changed else "none"
        if inode != self._inode or self._gone:
            return self._reopen(inode)
        with suppress(sqlite3.Error):
            version = count_queries.data_version(self.connection)
            if version != self._seen:
                self._seen = version
                return "grown"
        return "none"

    def close(self) -> None:
        """Let go of the file."""
        self.run.close()

    def _reopen(self, inode: int) -> FileChange:
        try:
            reopened = self._open()
        except RunFileError:  # half made; the next look tells
            return "none"
        self.run.close()
        self.run, self._inode, self._gone = reopened, inode, False
        self._seen = count_queries.data_version(self.connection)
        self._vocabulary = None
        return "replaced"


def _inode(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return None


class Browser(App[None]):
    """The state that the screens share."""

    def __init__(self, open_run: OpenRun) -> None:
        super().__init__()
        self.open_run = open_run
        self.filter = Filter()
        """What the list of calls shows; the next failure is looked for in it."""
        self.notice = ""
        """What happened to the run file; empty while it is there."""
        self.changes = 0
        """How often the run was seen to have changed."""


@dataclass
class ShowCalls(Message):
    """The list of calls is wanted, filtered."""

    filter: str


@dataclass
class ShowTrajectory(Message):
    """A trajectory is wanted, with a call of it selected: by its position, or by its number in the order of steps."""

    row: int
    position: str | None = None
    ordinal: int | None = None


@dataclass(frozen=True)
class ExportRequest:
    """Which report was asked for, and the file that it ends in."""

    format: str
    about: ExportScope
    path: Path
