"""How far an earlier process came with a trajectory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from replay.records import ENVIRONMENT_REASONS, CallResult, Outcome, Trajectory
from replay.runfile.rows import call_result_of, load_answer, placeholders, rows_as_dicts

MAY_BE_TRIED_AGAIN = f"""
  (c.outcome = '{Outcome.INCONCLUSIVE}' AND c.reason IN ({", ".join(f"'{name}'" for name in ENVIRONMENT_REASONS)})
    OR c.evidence = 'recorded' AND c.details LIKE '%"divergence": "environment"%'
      AND c.details NOT LIKE '%"absent_path"%')
  AND NOT EXISTS (
    SELECT 1 FROM trajectories s JOIN files g ON g.id = s.file
    JOIN journal j ON j.path = g.absolute_path AND j.trajectory = s.name AND j.server = c.server AND j.tool = c.tool
    WHERE s.id = c.trajectory
  )
"""  # noqa: S608
"""Condition on `calls c`: what kept a call from its verdict may be gone, and sending it again does no harm."""


class TrajectoryState(NamedTuple):
    """What a run knows of a trajectory before it is replayed."""

    row: int
    done: bool
    """Every call has its verdict, under the policy of now."""
    results: Mapping[str, CallResult]
    """Calls that have a verdict although the trajectory is not done: those to shared servers."""
    retried: int = 0
    """Calls that are tried again, since what kept them from their verdict may be gone."""


def unfinished_state(connection: sqlite3.Connection, row: int, trajectory: Trajectory) -> TrajectoryState:
    """The state of a trajectory that is not done."""
    calls = {call.position: call for call in trajectory.calls()}
    results: dict[str, CallResult] = {}
    for columns in rows_as_dicts(connection.execute("SELECT * FROM calls WHERE trajectory = ?", (row,))):
        if columns["position"] in calls:
            answer = load_answer(connection, columns["answer_key"]) if columns["answer_key"] else None
            results[columns["position"]] = call_result_of(calls[columns["position"]], columns, answer)
    return TrajectoryState(row, False, results)


def forget_trajectory(db: sqlite3.Connection, row: int) -> None:
    """Drop a trajectory with its verdicts; what was noted of calls with effects stays."""
    db.execute("DELETE FROM calls WHERE trajectory = ?", (row,))
    db.execute("DELETE FROM trajectories WHERE id = ?", (row,))


def retry(db: sqlite3.Connection, row: int, stateful: Iterable[str]) -> int:
    """Drop the verdicts of a done trajectory from the first call on that may be tried again.

    What came before it stands, but for servers whose state is built up anew with each replay. Calls with effects that
    were sent are not sent again: the journal has what they got.

    Args:
        db: in a transaction.
        row: of the trajectory.
        stateful: servers that have a process of their own in each replay.

    Returns:
        How many calls are tried again; 0 where nothing is dropped.
    """
    count, first = db.execute(
        f"SELECT count(*), min(ordinal) FROM calls c WHERE c.trajectory = ? AND {MAY_BE_TRIED_AGAIN}",  # noqa: S608
        (row,),
    ).fetchone()
    if not count:
        return 0
    names = tuple(stateful)
    db.execute(
        f"DELETE FROM calls WHERE trajectory = ? AND (ordinal >= ? OR server IN ({placeholders(names)}))",  # noqa: S608
        (row, first, *names),
    )
    db.execute("UPDATE trajectories SET done = 0 WHERE id = ?", (row,))
    return int(count)
