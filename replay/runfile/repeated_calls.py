"""Calls that several session files hold, since an agent went on with a session in a copy of it: each counts once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from pydantic import TypeAdapter

from replay.records.base import Record
from replay.records.summary import RepeatedCalls
from replay.runfile.effects_journal import absolute_path
from replay.runfile.run import Run
from replay.runfile.run_inputs import forget_judged_file

_SESSION: Final = "session:"
"""Before the absolute path of a session file: the key in the table `meta` under which its calls stand."""
_LEFT_OUT: Final = "repeated"
_COUNTS: Final = TypeAdapter(dict[str, int])


class _SessionCalls(Record):
    """The calls of a session file, by the names of its trajectories; "" for one that has no id."""

    last: str
    """When the last of them began; "" where nobody can tell."""
    calls: dict[str, tuple[str, ...]]


class _Holder(NamedTuple):
    """Where a call stands."""

    path: str
    trajectory: str
    ordinal: int


def keep_session_calls(
    run: Run, path: str, ids: Sequence[str], call_counts: Iterable[int], call_ids: Iterable[str], last: str | None
) -> None:
    """Keep what tells the calls of a session file from all others.

    Args:
        run: open for writing.
        path: of the file.
        ids: of its trajectories.
        call_counts: calls of each.
        call_ids: of all of them, one after the other; none where the file is no session's.
        last: when its last call began.
    """
    rest = iter(call_ids)
    calls = {run.name_of(id_): tuple(islice(rest, count)) for id_, count in zip(ids, call_counts, strict=True)}
    key = _SESSION + absolute_path(path)
    if any(any(own) for own in calls.values()):
        session = _SessionCalls(last=last or "", calls=calls)
        run.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, session.model_dump_json()))
    else:
        run.connection.execute("DELETE FROM meta WHERE key = ?", (key,))


def leave_out_repeated(run: Run) -> None:
    """Take out the verdicts on calls that another session of the run holds too: those of the one that ended first stay.

    A file that lost some is judged again by the next classification, which may not have the other one.
    """
    with run.transaction() as db:
        holders: dict[str, list[_Holder]] = {}
        for path, session in sorted(_sessions(db), key=lambda item: (item[1].last, item[0])):
            for name, calls in session.calls.items():
                for ordinal, call in enumerate(calls):
                    if call:
                        holders.setdefault(call, []).append(_Holder(path, name, ordinal))
        left_out: dict[str, int] = {}
        for places in holders.values():
            if any(place.path != places[0].path for place in places):
                for path in _taken_out(db, places):
                    left_out[path] = left_out.get(path, 0) + 1
        for path in left_out:
            forget_judged_file(db, path)
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_LEFT_OUT, _COUNTS.dump_json(left_out).decode()))


def _sessions(db: sqlite3.Connection) -> Iterator[tuple[str, _SessionCalls]]:
    """The session files that the run holds; what it keeps of others goes."""
    kept = {path for (path,) in db.execute("SELECT absolute_path FROM files")}
    for key, value in db.execute("SELECT key, value FROM meta WHERE key GLOB ?", (f"{_SESSION}*",)).fetchall():
        path = key.removeprefix(_SESSION)
        if path in kept:
            yield path, _SessionCalls.model_validate_json(value)
        else:
            db.execute("DELETE FROM meta WHERE key = ?", (key,))


def _taken_out(db: sqlite3.Connection, places: Sequence[_Holder]) -> Iterator[str]:
    """Leave the verdict on one call to the first file that has one; the paths of the others."""
    keeper = None
    for place in places:
        found = db.execute(
            "SELECT c.id FROM calls c JOIN trajectories t ON t.id = c.trajectory JOIN files f ON f.id = t.file "
            "WHERE f.absolute_path = ? AND t.name = ? AND c.ordinal = ?",
            place,
        ).fetchone()
        keeper = keeper or (place.path if found else None)
        if found and place.path != keeper:
            db.execute("DELETE FROM calls WHERE id = ?", found)
    yield from {place.path for place in places if keeper is not None and place.path != keeper}


def repeated_calls(db: sqlite3.Connection, files: Sequence[int] | None = None) -> RepeatedCalls | None:
    """The calls that were left out of the files, which by default are all; None where there are none."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (_LEFT_OUT,)).fetchone()
    counts = {} if found is None else _COUNTS.validate_json(found[0])
    if files is not None:
        named = {path for row, path in db.execute("SELECT id, absolute_path FROM files") if row in set(files)}
        counts = {path: count for path, count in counts.items() if path in named}
    return RepeatedCalls(calls=sum(counts.values()), files=len(counts)) if counts else None
