"""Trajectories and calls by the ids that people type, `MODEL:TRAJECTORY:s2c1`, and one trajectory with its verdicts."""

from __future__ import annotations

import json
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import PurePath
from typing import Any, Final, NamedTuple, Self

from replay.errors import UsageError
from replay.json_values import decode
from replay.records import Trajectory, Verdict
from replay.runfile.rows import in_files, is_failure, rows_as_dicts, unpack, unpacked_text, verdict_of_row
from replay.runfile.run import Run
from replay.safety.text import one_line
from replay.suggestions import nearest_name, nearest_names

_POSITION: Final = re.compile(r"s\d+c\d+")
_MAX_NAMED: Final = 3
_DRAWN: Final = re.compile(
    r"(?<![0-9a-zA-Z])(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|(?=[0-9a-zA-Z]*\d[a-zA-Z]+\d)[0-9a-zA-Z]{16,}(?![0-9a-zA-Z]))"
)
"""The beginning of what is drawn at random, in an id that nobody reads to its end."""
_DRAWN_CHARACTERS: Final = 8
_FEWEST_CHARACTERS: Final = 4
"""Of an id that is not written to its end."""


class TrajectoryPlace(NamedTuple):
    """One trajectory of a run."""

    row: int
    """In the table trajectories."""
    file: str
    model: str
    trajectory: str


def find_trajectory(run: Run, ref: str) -> TrajectoryPlace:
    """The trajectory that an id names, whole or by its first characters; `MODEL:ID` or `FILE:ID` where several have it.

    Raises:
        UsageError: there is none (names the nearest), or there are several.
    """
    places = trajectory_places(run)
    found = _named(ref, places)
    if len(found) == 1:
        return found[0]
    if found:
        known = Addresses(places)
        raise _ambiguous("trajectory", ref, [known.trajectory(place.file, place.trajectory) for place in found])
    raise _missing("trajectory", ref, [place.trajectory for place in places])


def find_call(run: Run, ref: str) -> tuple[TrajectoryPlace, str]:
    """The trajectory and the position of the call that an id names; of a run with one trajectory, the position alone.

    Raises:
        UsageError: there is none (names the nearest), or there are several.
    """
    name, _, position = ref.rpartition(":")
    run.check_has_verdicts()
    places = trajectory_places(run)
    if not _POSITION.fullmatch(position):
        raise _missing("call", ref, _examples(run, ref, places), "; a call's id looks like TRAJECTORY:s2c1")
    found = _named(name, places) if name else list(places)
    if not found:
        raise _missing(
            "call", ref, [f"{place.trajectory}:{position}" for place in places if position in _positions(run, place)]
        )
    holding = [place for place in found if position in _positions(run, place)]
    if len(holding) == 1:
        return holding[0], position
    if holding:
        known = Addresses(places)
        raise _ambiguous("call", ref, [known.call(place.file, place.trajectory, position) for place in holding])
    near = [f"{found[0].trajectory}:{other}" for other in _positions(run, found[0])]
    raise _missing("call", ref, near)


def trajectory_places(run: Run) -> list[TrajectoryPlace]:
    """All trajectories, in the order in which they were read."""
    return _places(run, "1")


def place_of_row(run: Run, row: int) -> TrajectoryPlace | None:
    """One trajectory by its row; None where there is none."""
    return next(iter(_places(run, f"t.id = {int(row)}")), None)


def failing_trajectories(run: Run, files: Sequence[int] | None = None) -> list[TrajectoryPlace]:
    """Those with a failed call, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: only of these, by the run's numbers; by default of all.
    """
    failing = f"SELECT trajectory FROM calls WHERE {is_failure('outcome')}"  # noqa: S608
    return _places(run, f"{in_files('t.file', files)} AND t.id IN ({failing})")


def _places(run: Run, where: str) -> list[TrajectoryPlace]:
    rows = run.connection.execute(
        "SELECT t.id, f.path, f.model, t.name FROM trajectories t JOIN files f ON f.id = t.file "  # noqa: S608
        f"WHERE {where} ORDER BY t.file, t.id"
    )
    return [TrajectoryPlace(*row) for row in rows]


class Addresses:
    """The ids under which trajectories are printed: as short as finds them again among all of the run."""

    def __init__(self, places: Iterable[TrajectoryPlace]) -> None:
        self._by_name: dict[str, list[TrajectoryPlace]] = {}
        for place in places:
            self._by_name.setdefault(place.trajectory, []).append(place)
        self._sorted = sorted(self._by_name)

    @classmethod
    def of(cls, run: Run) -> Self:
        """Of all trajectories of a run."""
        return cls(trajectory_places(run))

    def trajectory(self, file: str, trajectory: str) -> str:
        """The address of a trajectory: its id, or the first characters of one drawn at random; where others have the
        same id, with its model, its file's name or a folder before it, or as much of the path as tells them apart.
        """
        same = self._by_name[trajectory]
        name = self._shortened(trajectory)
        if len(same) == 1:
            return name
        place = next(place for place in same if place.file == file)
        others = {owner for other in same if other is not place for owner in _owners(other)}
        owner = next((owner for owner in _owners(place) if owner and owner not in others), f"{file}:")
        return f"{owner}{name}"

    def call(self, file: str, trajectory: str, position: str) -> str:
        """The address of a call."""
        return f"{self.trajectory(file, trajectory)}:{position}"

    def _shortened(self, name: str) -> str:
        drawn = _DRAWN.search(name)
        if drawn is None:
            return name
        index = bisect_left(self._sorted, name)
        beside = self._sorted[max(0, index - 1) : index] + self._sorted[index + 1 : index + 2]
        shared = max((len(commonprefix([name, other])) for other in beside), default=0)  # noqa: RUF071
        return name[: max(shared + 1, drawn.start() + _DRAWN_CHARACTERS)]


def _named(ref: str, places: Iterable[TrajectoryPlace]) -> list[TrajectoryPlace]:
    """The trajectories of an id; where none has it, those whose ids begin so."""
    named = [(place, [f"{owner}{place.trajectory}" for owner in _owners(place)]) for place in places]
    exact = [place for place, spellings in named if ref in spellings]
    if exact or len(ref) < _FEWEST_CHARACTERS:
        return exact
    return [
        place
        for place, _ in named
        if any(
            ref.startswith(owner) and place.trajectory.startswith(ref[len(owner) :] or ":") for owner in _owners(place)
        )
    ]


def _owners(place: TrajectoryPlace) -> Iterator[str]:
    """What may stand before a trajectory's id: nothing, its model, its file's name, a folder, ever more of the path.

    A folder that is called like the trajectory tells nothing: `run-1:trip` is of `run-1/trip/messages.json`.
    """
    path = place.file.split("/")
    folders = [part for part in path[:-1] if part and part != place.trajectory]
    yield ""
    yield from (f"{name}:" for name in (place.model, PurePath(place.file).stem, *reversed(folders)))
    for parts in (folders, path):
        yield from (f"{'/'.join(parts[start:])}:" for start in range(len(parts) - 1, -1, -1))


def _positions(run: Run, place: TrajectoryPlace) -> list[str]:
    rows = run.connection.execute("SELECT position FROM calls WHERE trajectory = ? ORDER BY ordinal", (place.row,))
    return [position for (position,) in rows]


def _examples(run: Run, ref: str, places: list[TrajectoryPlace]) -> list[str]:
    """Ids of calls in the trajectory that the text most resembles."""
    names = [place.trajectory for place in places]
    nearest = nearest_name(ref, names, min_score=0)
    place = places[0] if nearest is None else places[names.index(nearest)]
    return [f"{place.trajectory}:{position}" for position in _positions(run, place)]


def _missing(what: str, ref: str, known: list[str], hint: str = "") -> UsageError:
    nearest = nearest_names(ref, known, limit=_MAX_NAMED)
    named = f"; nearest: {', '.join(one_line(name, 120) for name in nearest)}" if nearest else ""
    return UsageError(f"there is no {what} {one_line(ref, 120)} in this run{named}{hint}")


def _ambiguous(what: str, ref: str, ids: list[str]) -> UsageError:
    shown = ", ".join(one_line(identifier, 160) for identifier in ids[:_MAX_NAMED])
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    several = "trajectories" if what == "trajectory" else "calls"
    return UsageError(f"{one_line(ref, 120)} is the id of {len(ids)} {several}; say which: {shown}{more}")


MAX_LOOKED_THROUGH = 20_000
"""Trajectories that are looked through for those that one of them started."""
_HAS_PARENT = re.compile(rb'"parent": ?\{')


@dataclass(frozen=True)
class StoredCall:
    """A call's verdict and its stored answer, as a trajectory's screen shows them."""

    ordinal: int
    position: str
    server: str
    tool: str
    verdict: Verdict
    answer_key: str | None


@dataclass(frozen=True)
class StoredTrajectory:
    """A trajectory with the verdicts that there are."""

    row: int
    file: int
    model: str
    path: str
    format: str
    done: bool
    record: Trajectory
    calls: tuple[StoredCall, ...]


@dataclass(frozen=True)
class StartedTrajectory:
    """A sub-agent's trajectory, and the call that started it."""

    row: int
    name: str
    call: str | None
    """The call's position; None where the file does not say which it was."""


@dataclass(frozen=True)
class TaskName:
    """A trajectory that a name was found for."""

    row: int
    name: str
    model: str
    task_type: str


def next_trajectory(connection: sqlite3.Connection, row: int, *, back: bool = False) -> int | None:
    """The trajectory after (or before) one, in the order of the run."""
    query = "SELECT max(id) FROM trajectories WHERE id < ?" if back else "SELECT min(id) FROM trajectories WHERE id > ?"
    found = connection.execute(query, (row,)).fetchone()[0]
    return None if found is None else int(found)


def trajectory_record(connection: sqlite3.Connection, row: int) -> Trajectory:
    """A trajectory of the run as it was replayed, with its data edges."""
    (record,) = connection.execute("SELECT record FROM trajectories WHERE id = ?", (row,)).fetchone()
    return Trajectory.model_validate(unpack(record))


def timed_record(connection: sqlite3.Connection, row: int) -> Trajectory | None:
    """A trajectory of which the file may say what calls or replies took; any other is not read, and None."""
    (record,) = connection.execute("SELECT record FROM trajectories WHERE id = ?", (row,)).fetchone()
    text = unpacked_text(record)
    return Trajectory.model_validate(decode(text)) if b'"usage":' in text or b'"seconds":' in text else None


def stored_trajectory(connection: sqlite3.Connection, row: int) -> StoredTrajectory | None:
    """A trajectory with its record and verdicts; None where it is no more."""
    found = connection.execute(
        "SELECT t.file, f.model, f.path, f.format, t.done, t.record FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.id = ?",
        (row,),
    ).fetchone()
    if found is None:
        return None
    file, model, path, format_, done, record = found
    cursor = connection.execute("SELECT * FROM calls WHERE trajectory = ? ORDER BY ordinal", (row,))
    calls = tuple(map(_stored_call, rows_as_dicts(cursor)))
    trajectory = Trajectory.model_validate(unpack(record))
    return StoredTrajectory(row, file, model, path, format_, bool(done), trajectory, calls)


def _stored_call(columns: dict[str, Any]) -> StoredCall:
    return StoredCall(
        ordinal=columns["ordinal"],
        position=columns["position"],
        server=columns["server"] or "",
        tool=columns["tool"] or "",
        verdict=verdict_of_row(columns),
        answer_key=columns["answer_key"],
    )


def find_tasks(connection: sqlite3.Connection, text: str, limit: int = 20) -> list[TaskName]:
    """Trajectories whose id holds a text."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    rows = connection.execute(
        "SELECT t.id, t.name, f.model, ifnull(t.task_type, '') FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.id IN (SELECT id FROM trajectories WHERE name LIKE ? ESCAPE '\\' LIMIT ?)",
        (pattern, limit),
    )
    return [TaskName(*row) for row in rows]


def row_beside(connection: sqlite3.Connection, stored: StoredTrajectory, name: str) -> int | None:
    """The trajectory of that id in the same results file, of whatever model; else in one of the same format."""
    found = connection.execute(
        "SELECT t.id FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE t.name = ? AND (f.path = ? OR f.format = ?) ORDER BY f.path != ?, t.id",
        (name, stored.path, stored.format, stored.path),
    ).fetchone()
    return None if found is None else int(found[0])


def sub_agents(connection: sqlite3.Connection, stored: StoredTrajectory) -> list[StartedTrajectory]:
    """The trajectories that the calls of a trajectory started, in the order of the run.

    The link stands in the records of those that were started; they are in the same file, or in others of its format.
    """
    rows = connection.execute(
        "SELECT t.id, t.name, f.path, t.record FROM trajectories t JOIN files f ON f.id = t.file "
        "WHERE f.format = ? AND t.id != ? ORDER BY t.id LIMIT ?",
        (stored.format, stored.row, MAX_LOOKED_THROUGH),
    )
    found = []
    for row, name, path, blob in rows:
        text = unpacked_text(blob)
        if _HAS_PARENT.search(text):
            parent = Trajectory.model_validate(json.loads(text)).parent
            if parent is not None and parent.trajectory == stored.record.id:
                found.append((path, StartedTrajectory(row, name, parent.call)))
    beside = [started for path, started in found if path == stored.path]
    return beside or [started for _, started in found]


def ids_of_several_models(connection: sqlite3.Connection) -> frozenset[str]:
    """The ids that trajectories of more than one model have."""
    rows = connection.execute(
        "SELECT t.name FROM trajectories t JOIN files f ON f.id = t.file "
        "GROUP BY t.name HAVING count(DISTINCT f.model) > 1"
    )
    return frozenset(name for (name,) in rows)
