"""How far an earlier process came with a trajectory."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from replay.records import CallResult, Trajectory
from replay.runfile.rows import call_result_of, rows_as_dicts
from replay.runfile.stored_answers import load_answer


class TrajectoryState(NamedTuple):
    """What a run knows of a trajectory before it is replayed."""

    row: int
    done: bool
    """Every call has its verdict, under the policy of now."""
    results: Mapping[str, CallResult]
    """Calls that have a verdict although the trajectory is not done: those to shared servers."""


def unfinished_state(connection: sqlite3.Connection, row: int, trajectory: Trajectory) -> TrajectoryState:
    """The state of a trajectory that is not done."""
    calls = {call.position: call for call in trajectory.calls()}
    results: dict[str, CallResult] = {}
    for columns in rows_as_dicts(connection.execute("SELECT * FROM calls WHERE trajectory = ?", (row,))):
        if columns["position"] in calls:
            answer = load_answer(connection, columns["answer_key"]) if columns["answer_key"] else None
            results[columns["position"]] = call_result_of(calls[columns["position"]], columns, answer)
    return TrajectoryState(row, False, results)


def forget_verdicts_of(db: sqlite3.Connection, row: int) -> None:
    """Drop the verdicts; what was noted of calls with effects stays."""
    db.execute("DELETE FROM calls WHERE trajectory = ?", (row,))


def restart(db: sqlite3.Connection, row: int, policy: str) -> None:
    """Drop the verdicts of a trajectory that is judged under another policy."""
    forget_verdicts_of(db, row)
    db.execute("UPDATE trajectories SET done = 0, policy = ? WHERE id = ?", (policy, row))
