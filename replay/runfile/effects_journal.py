"""The journal of calls with effects: what was sent, written down for good before it was.

An entry is told by what was sent, not by where it stands: results files are edited and renamed between the runs that
judge them. It belongs to a trajectory of a file, and passes to another only when that one does not hold it any more.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self

from pydantic import TypeAdapter

from replay.records import Answer, Trajectory, TransportFault, digest
from replay.runfile.rows import pack, pack_text, unpack
from replay.safety.redaction import Redactor

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
_STDERR: Final = "stderr"
"""Beside the fields of the answer, which has none of this name."""
_SAME: Final = "arguments = ? AND server = ? AND tool = ? AND occurrence = ?"


class EffectKey(NamedTuple):
    """A call with effects, told by what was sent and not by where it stands."""

    server: str
    tool: str
    arguments: str
    """SHA-256 of the arguments as they were recorded."""
    occurrence: int
    """1 for the first such call of its trajectory, 2 for the next one that is equal to it."""


def effect_keys(calls: Iterable[tuple[str, str, str, dict[str, Any]]]) -> dict[str, EffectKey]:
    """The keys of a trajectory's calls, by position.

    Args:
        calls: position, server, tool and recorded arguments of each, in the order of the steps.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    keys = {}
    for position, server, tool, arguments in calls:
        same = (server, tool, digest(arguments))
        seen[same] += 1
        keys[position] = EffectKey(*same, seen[same])
    return keys


StillHolds = Callable[[str, str, EffectKey], bool]
"""Whether a file, by its absolute path, still has a trajectory of that id with that call."""


class Origin(NamedTuple):
    """Where a call stands: the trajectory, and the file that it is read from."""

    path: str
    """Absolute."""
    trajectory: str
    question: str
    """SHA-256 of the question; "" where there is none."""

    @classmethod
    def of(cls, file: str, trajectory: Trajectory) -> Self:
        """Of the calls of a trajectory."""
        question = trajectory.task.question
        return cls(absolute_path(file), trajectory.id, digest(question) if question else "")


class SentCall(NamedTuple):
    """A call with effects that was sent."""

    answer: Answer | None = None
    """None where it is not known."""
    stderr: str = ""
    """What its server wrote to stderr meanwhile."""
    is_placed: bool = True
    """Whether it is known to be this call. Else one like it was sent for a trajectory that nobody knows again."""
    row: int = 0
    """Of its entry in the journal, where that is known."""


class EffectsJournal:
    """The table journal.

    Args:
        connection: to the run file, open for writing, and in no transaction.
        redactor: takes the secrets out of answers.
    """

    def __init__(self, connection: sqlite3.Connection, redactor: Redactor) -> None:
        self._db, self._redactor = connection, redactor

    def last(self) -> int:
        """The row of the last entry; 0 where there is none."""
        return int(self._db.execute("SELECT ifnull(max(id), 0) FROM journal").fetchone()[0])

    def find(
        self, origin: Origin, key: EffectKey, still_holds: StillHolds, until: int | None = None
    ) -> SentCall | None:
        """What was sent for this call before: from this place, or from one that it stands at no more.

        Such a one is a file that was renamed, a trajectory that was given another id or moved to another file. What
        was sent for it counts for one call only, the first that asks.

        Args:
            origin: where the call stands now.
            key: of the call.
            still_holds: asked about the places where equal calls stood when they were sent.
            until: the last entry that can stand for such a place: what was sent since stands in the files that are
                judged now. Any can where it is None.
        """
        same = (key.arguments, key.server, key.tool, key.occurrence)
        here = self._db.execute(
            f"SELECT id, answer FROM journal WHERE {_SAME} AND trajectory = ? AND path = ?",  # noqa: S608
            (*same, origin.trajectory, origin.path),
        ).fetchone()
        if here is not None:
            return _sent(*here)
        if until == 0:
            return None
        elsewhere = self._db.execute(
            f"SELECT id, path, trajectory, answer FROM journal WHERE {_SAME} AND (trajectory = ? OR question = ?) "  # noqa: S608
            "AND id <= ifnull(?, id) ORDER BY trajectory != ?, id",
            (*same, *origin[1:], until, origin.trajectory),
        ).fetchall()
        for row, path, trajectory, blob in elsewhere:
            if not still_holds(path, trajectory, key):
                self._db.execute(
                    "UPDATE journal SET path = ?, trajectory = ?, question = ? WHERE id = ?", (*origin, row)
                )
                return _sent(row, blob)
        return None

    def entries(self) -> Iterator[tuple[Origin, EffectKey]]:
        """What was sent, and where it stood."""
        query = "SELECT path, trajectory, question, server, tool, arguments, occurrence FROM journal"
        for *origin, server, tool, arguments, occurrence in self._db.execute(query):
            yield Origin(*origin), EffectKey(server, tool, arguments, occurrence)

    def note(self, origin: Origin, key: EffectKey) -> int:
        """Write down that a call is about to be sent; it is on the disk when this returns. Gives the entry's row."""
        self._db.execute("PRAGMA synchronous = FULL")
        try:
            cursor = self._db.execute(
                "INSERT INTO journal (path, trajectory, question, server, tool, arguments, occurrence) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*origin, *key),
            )
        finally:
            self._db.execute("PRAGMA synchronous = NORMAL")
        return int(cursor.lastrowid or 0)

    def keep(self, row: int, answer: Answer, stderr: str = "") -> None:
        """Keep what came of a call, and what its server wrote to stderr meanwhile.

        A call whose server was not there to get it was not sent.
        """
        if isinstance(answer, TransportFault) and answer.fault == "not-started":
            self._db.execute("DELETE FROM journal WHERE id = ?", (row,))
            return
        if stderr:
            blob = pack({**self._redactor.record(answer), _STDERR: self._redactor.text(stderr)})
        else:
            blob = pack_text(self._redactor.record_text(answer))
        self._db.execute("UPDATE journal SET answer = ? WHERE id = ?", (blob, row))


def is_there(path: str) -> bool:
    """Whether a file is where it was, be it a member of an archive."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)  # noqa: PTH120
        if os.path.isdir(path):  # noqa: PTH112
            return False
    return True


def absolute_path(path: str) -> str:
    """The name of a file by which the run knows it again: links are followed."""
    place = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - asked for every file of very many
    directory, name = os.path.split(place)
    if name in ("", ".", "..") or os.path.islink(place):  # noqa: PTH114
        return _resolved(place)
    return os.path.join(_resolved(directory), name)  # noqa: PTH118


@lru_cache(maxsize=4096)
def _resolved(path: str) -> str:
    return os.path.realpath(path)


def _sent(row: int, blob: bytes | None) -> SentCall:
    return SentCall(*journalled(blob), row=row)


def journalled(blob: bytes | None) -> tuple[Answer | None, str]:
    """What an entry holds: the answer, and what the server wrote to stderr meanwhile."""
    if blob is None:
        return None, ""
    value = unpack(blob)
    stderr = value.pop(_STDERR, "")
    return _ANSWER.validate_python(value), str(stderr)
