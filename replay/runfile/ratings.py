"""The replies of judges in a run: each is there as soon as it came, and is never asked for again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from replay.records import Outcome
from replay.records.rating import Protocol, Rating, RatingKey
from replay.runfile.rows import pack, placeholders, unpack
from replay.runfile.summary import outcomes_by_trajectory


def is_rated(connection: sqlite3.Connection, key: RatingKey, judge_model: str, digest: str) -> bool:
    """Whether this judge answered this very prompt already."""
    found = connection.execute(
        "SELECT 1 FROM ratings WHERE path = ? AND trajectory = ? AND protocol = ? AND prompt = ? AND judge = ? "
        "AND shuffle = ? AND judge_model = ? AND digest = ?",
        (key.file, key.trajectory, key.protocol, key.prompt, key.judge, key.shuffle, judge_model, digest),
    )
    return found.fetchone() is not None


def save_rating(db: sqlite3.Connection, rating: Rating) -> None:
    """Keep a reply, in the place of one to an earlier prompt."""
    db.execute(
        "INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            rating.file,
            rating.trajectory,
            rating.protocol,
            rating.prompt,
            rating.judge,
            rating.shuffle,
            rating.judge_model,
            rating.digest,
            pack(rating.model_dump(mode="json")),
        ),
    )


def ratings(connection: sqlite3.Connection, protocol: Protocol, paths: Sequence[str]) -> Iterator[Rating]:
    """The replies about the trajectories of these files, in the order of files, trajectories and judges."""
    rows = connection.execute(
        f"SELECT record FROM ratings WHERE protocol = ? AND path IN ({placeholders(paths)}) "  # noqa: S608
        "ORDER BY path, trajectory, prompt, judge, shuffle",
        (protocol, *paths),
    )
    return (Rating.model_validate(unpack(record)) for (record,) in rows)


def outcomes_by_file_and_id(connection: sqlite3.Connection) -> dict[tuple[str, str], dict[Outcome, int]]:
    """How many calls of each outcome every trajectory has, by the absolute path of its file and its id."""
    counts = outcomes_by_trajectory(connection)
    return {(path, name): counts[row] for path, name, row in trajectories_by_path(connection) if row in counts}


def trajectories_by_path(connection: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """The absolute path of its file, the id and the row of each trajectory, in the order in which they were read."""
    rows = connection.execute(
        "SELECT ifnull(f.absolute_path, f.path), t.name, t.id FROM trajectories t JOIN files f ON f.id = t.file "
        "ORDER BY t.file, t.id"
    )
    return rows.fetchall()
