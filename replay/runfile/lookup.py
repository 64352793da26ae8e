"""From the ids that people type to what a run holds: `TRAJECTORY:s2c1`, or with `MODEL:` or `FILE:` before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from replay.errors import UsageError
from replay.runfile.conditions import in_files, is_failure
from replay.runfile.run import Run
from replay.safety.text import one_line
from replay.suggestions import nearest_name, nearest_names

_POSITION: Final = re.compile(r"s\d+c\d+")
_MAX_NAMED: Final = 3


class TrajectoryPlace(NamedTuple):
    """One trajectory of a run."""

    row: int
    """In the table trajectories."""
    file: str
    model: str
    trajectory: str


class CallPlace(NamedTuple):
    """One call of a run."""

    row: int
    """Of its trajectory, in the table trajectories."""
    file: str
    model: str
    trajectory: str
    call: str


def find_trajectory(run: Run, ref: str) -> TrajectoryPlace:
    """The trajectory that an id names: its own id, or `MODEL:ID` or `FILE:ID` where several files have it.

    Raises:
        UsageError: there is none (names the nearest), or there are several.
    """
    places = trajectory_places(run)
    found = [place for place in places if ref in _spellings(place)]
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous("trajectory", ref, [qualified(place, places) for place in found])
    raise _missing("trajectory", ref, [place.trajectory for place in places])


def find_call(run: Run, ref: str) -> CallPlace:
    """The call that an id names; the trajectory may be left out where the run has only one.

    Raises:
        UsageError: there is none (names the nearest), or there are several.
    """
    name, _, position = ref.rpartition(":")
    places = trajectory_places(run)
    if not places:
        raise UsageError("this run has no verdicts yet; make some with: replay classify results/*.json")
    if not _POSITION.fullmatch(position):
        raise _missing("call", ref, _examples(run, ref, places), "; a call's id looks like TRAJECTORY:s2c1")
    found = [place for place in places if name in _spellings(place)] if name else list(places)
    if not found:
        raise _missing(
            "call", ref, [f"{place.trajectory}:{position}" for place in places if _has(run, place, position)]
        )
    holding = [place for place in found if _has(run, place, position)]
    if len(holding) == 1:
        return CallPlace(*holding[0], position)
    if holding:
        raise _ambiguous("call", ref, [f"{qualified(place, places)}:{position}" for place in holding])
    near = [f"{found[0].trajectory}:{other}" for other in _positions(run, found[0])]
    raise _missing("call", ref, near)


def call_id(run: Run, file: str, trajectory: str, position: str) -> str:
    """The shortest id that finds a call again."""
    places = trajectory_places(run)
    place = next(place for place in places if (place.file, place.trajectory) == (file, trajectory))
    return f"{qualified(place, places)}:{position}"


def trajectory_places(run: Run) -> list[TrajectoryPlace]:
    """All trajectories, in the order in which they were read."""
    rows = run.connection.execute(
        "SELECT t.id, f.path, f.model, t.name FROM trajectories t JOIN files f ON f.id = t.file ORDER BY t.file, t.id"
    )
    return [TrajectoryPlace(*row) for row in rows]


def place_of_row(run: Run, row: int) -> TrajectoryPlace | None:
    """One trajectory by its row; None where there is none."""
    found = run.connection.execute(
        "SELECT t.id, f.path, f.model, t.name FROM trajectories t JOIN files f ON f.id = t.file WHERE t.id = ?", (row,)
    ).fetchone()
    return None if found is None else TrajectoryPlace(*found)


def failing_trajectories(run: Run, files: Sequence[int] | None = None) -> list[TrajectoryPlace]:
    """Those with a failed call, in the order in which they were read.

    Args:
        run: open for reading or writing.
        files: only of these, by the run's numbers; by default of all.
    """
    failing = f"SELECT trajectory FROM calls WHERE {is_failure('outcome')}"  # noqa: S608
    rows = run.connection.execute(
        "SELECT t.id, f.path, f.model, t.name FROM trajectories t JOIN files f ON f.id = t.file "  # noqa: S608
        f"WHERE {in_files('t.file', files)} AND t.id IN ({failing}) ORDER BY t.file, t.id"
    )
    return [TrajectoryPlace(*row) for row in rows]


def _spellings(place: TrajectoryPlace) -> tuple[str, ...]:
    path = PurePath(place.file)
    owners = ("", f"{place.model}:", f"{place.file}:", f"{path.name}:", f"{path.stem}:")
    return tuple(f"{owner}{place.trajectory}" for owner in owners)


def qualified(place: TrajectoryPlace, places: list[TrajectoryPlace]) -> str:
    """The shortest spelling that no other trajectory shares."""
    spellings = _spellings(place)
    others = {
        spelling
        for other in places
        if other.row != place.row and any(spelling.endswith(other.trajectory) for spelling in spellings)
        for spelling in _spellings(other)
    }
    return next((spelling for spelling in spellings if spelling not in others), spellings[2])


def _positions(run: Run, place: TrajectoryPlace) -> list[str]:
    rows = run.connection.execute("SELECT position FROM calls WHERE trajectory = ? ORDER BY ordinal", (place.row,))
    return [position for (position,) in rows]


def _has(run: Run, place: TrajectoryPlace, position: str) -> bool:
    query = "SELECT 1 FROM calls WHERE trajectory = ? AND position = ?"
    return run.connection.execute(query, (place.row, position)).fetchone() is not None


def _examples(run: Run, ref: str, places: list[TrajectoryPlace]) -> list[str]:
    """Ids of calls in the trajectory that the text most resembles."""
    names = [place.trajectory for place in places]
    nearest = nearest_name(ref, names)
    place = places[0] if nearest is None else places[names.index(nearest)]
    return [f"{place.trajectory}:{position}" for position in _positions(run, place)]


def _missing(what: str, ref: str, known: list[str], hint: str = "") -> UsageError:
    nearest = nearest_names(ref, known, limit=_MAX_NAMED)
    named = f"; nearest: {', '.join(one_line(name, 120) for name in nearest)}" if nearest else ""
    return UsageError(f"there is no {what} {one_line(ref, 120)} in this run{named}{hint}")


def _ambiguous(what: str, ref: str, ids: list[str]) -> UsageError:
    shown = ", ".join(one_line(identifier, 160) for identifier in ids[:_MAX_NAMED])
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    return UsageError(f"{one_line(ref, 120)} is the id of {len(ids)} {_plural(what)}; say which: {shown}{more}")


def _plural(what: str) -> str:
    return "trajectories" if what == "trajectory" else f"{what}s"
