"""Rows of a run that were made in another process, and come into the run file whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from replay.records import CallResult, Server, Source, Trajectory, TransportFault
from replay.records.trajectory import mark_of, own_answer_key, stderr_key
from replay.runfile.connection import prepare_tables
from replay.runfile.rows import insert_calls, insertion, pack, placeholders, rows_as_dicts
from replay.runfile.run import Run
from replay.safety.redaction import Redactor

_PLACED = frozenset({"id", "trajectory", "file"})
"""Columns of a call that tell where it stands in its own run file."""


class ShippedRows(NamedTuple):
    """A judged trajectory as the rows that a run file has of it, without secrets."""

    trajectory: dict[str, Any]
    task_run: dict[str, Any]
    columns: tuple[str, ...]
    calls: tuple[tuple[Any, ...], ...]
    answers: tuple[tuple[Any, ...], ...]
    faults: frozenset[str]
    """Keys under which no answer stands but the fault of a transport: they replace none that came."""
    findings: tuple[tuple[Any, ...], ...] | None = None
    """What `keep_findings` kept of the trajectory; None where nobody looked for findings."""
    mark: str = ""
    """Of the trajectory; see `mark_of`."""


class RowMaker:
    """Makes the rows of trajectories in a run file that is in memory only.

    Args:
        redactor: takes the secrets out.
        servers: whose answers are kept.
    """

    def __init__(self, redactor: Redactor, servers: Iterable[Server]) -> None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        prepare_tables(Path(":memory:"), connection)
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")  # nothing is counted or searched here
        self.run = Run(Path(":memory:"), connection, redactor=redactor)
        """Holds the trajectory whose rows are being made, and the servers."""
        self.run.save_servers(servers)

    def rows(
        self,
        original: Trajectory,
        policy: str,
        replayed: Trajectory,
        results: Sequence[CallResult],
        on_judged: Callable[[int], None] = lambda row: None,
    ) -> ShippedRows:
        """The rows of one trajectory.

        Args:
            original: as it was read; its digest tells whether it changed.
            policy: what it was judged under.
            replayed: as it was replayed, with its data edges.
            results: its calls, each with its verdict.
            on_judged: called with the row of the trajectory in `run` once its verdicts stand there.
        """
        run, db = self.run, self.run.connection
        db.execute("BEGIN")
        try:
            state = run.begin(original, file="shipped", format="", policy=policy, record=False)
            run.finish(state.row, replayed, results)
            on_judged(state.row)
            (trajectory,) = _of_trajectory(db, "trajectories", "id", state.row)
            (task_run,) = _of_trajectory(db, "task_runs", "trajectory", state.row)
            calls = _of_trajectory(db, "calls", "trajectory", state.row)
            answers = db.execute("SELECT * FROM answers ORDER BY key").fetchall()
            findings = tuple(row[1:] for row in db.execute("SELECT * FROM findings ORDER BY ordinal, kind"))
        finally:
            db.execute("ROLLBACK")
        came = {result.key for result in results if not isinstance(result.answer, TransportFault)}
        columns = tuple(calls[0]) if calls else ()
        return ShippedRows(
            {name: value for name, value in trajectory.items() if name != "done"},
            task_run,
            columns,
            tuple(tuple(row.values()) for row in calls),
            tuple(answers),
            frozenset(key for key, *_ in answers if key not in came),
            findings if task_run["diagnosed"] else None,
            mark_of(replayed) if answers else "",
        )


def reserve_rows(run: Run, path: str, model: str, format: str, ids: Iterable[tuple[str, int]]) -> list[int]:  # noqa: A002
    """Make room for trajectories that are yet to be judged, in the order in which they will stand.

    Args:
        run: open for writing.
        path: of the results file, as it was named.
        model: of the results file.
        format: of the results file.
        ids: of the trajectories, each with the number of its calls.

    Returns:
        The row of each trajectory.
    """
    rows = []
    with run.transaction() as db:
        file = run.file_row(path, model, format)
        for identifier, calls in ids:
            name = run.name_of(identifier)
            empty = Trajectory(
                id=name, model=run.redactor.text(model), source=Source(file=path, format=format), steps=()
            )
            db.execute(
                "INSERT OR IGNORE INTO trajectories (file, name, steps, calls, digest, policy, record) "
                "VALUES (?, ?, 0, ?, '', '', ?)",
                (file, name, calls, pack(empty.model_dump(mode="json"))),
            )
            found = db.execute("SELECT id FROM trajectories WHERE file = ? AND name = ?", (file, name)).fetchone()
            rows.append(int(found[0]))
    return rows


def drop_reserved_rows(run: Run) -> None:
    """Forget the room that was made for trajectories that were not judged after all."""
    with run.transaction() as db:
        db.execute("DELETE FROM trajectories WHERE digest = ''")


def write_shipped_rows(run: Run, shipped: Iterable[tuple[int, ShippedRows]]) -> None:
    """Put trajectories that were judged elsewhere into the run, each under its row, all or none."""
    with run.transaction() as db:
        aligned = db.execute("SELECT EXISTS (SELECT 1 FROM aligned_tasks)").fetchone()[0]
        stateful = run.stateful_servers()
        for row, shipped_rows in shipped:
            rows = _with_own_keys(db, shipped_rows, stateful)
            db.execute("DELETE FROM calls WHERE trajectory = ?", (row,))
            fields = {**rows.trajectory, "done": 1}
            settings = ", ".join(f"{name} = ?" for name in fields)
            db.execute(f"UPDATE trajectories SET {settings} WHERE id = ?", (*fields.values(), row))  # noqa: S608
            known = {"trajectory": row, **rows.task_run}
            db.execute("DELETE FROM findings WHERE trajectory = ?", (row,))
            if aligned:  # what an alignment shows is known here alone
                known["diagnosed"] = 0
            else:
                db.executemany(
                    "INSERT INTO findings VALUES (?, ?, ?, ?, ?)", ((row, *one) for one in rows.findings or ())
                )
            db.execute(insertion("task_runs", known, verb="INSERT OR REPLACE"), tuple(known.values()))
            file = db.execute("SELECT file FROM trajectories WHERE id = ?", (row,)).fetchone()[0]
            insert_calls(db, ("trajectory", "file", *rows.columns), [(row, file, *call) for call in rows.calls])
            for answer in rows.answers:
                verb = "INSERT OR IGNORE" if answer[0] in rows.faults else "INSERT OR REPLACE"
                db.execute(f"{verb} INTO answers VALUES ({placeholders(answer)})", answer)


def _with_own_keys(db: sqlite3.Connection, rows: ShippedRows, stateful: Collection[str]) -> ShippedRows:
    """Rows whose answers take the place of none that another trajectory got from a server with state."""
    own: dict[str, str] = {}
    for key, server, *_, blob in rows.answers:
        if server not in stateful or key in rows.faults:
            continue
        kept = db.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if kept is not None and kept[0] != blob:
            own[key] = own_answer_key(key, rows.mark)
            own[stderr_key(key)] = stderr_key(own[key])
    if not own:
        return rows
    at = rows.columns.index("answer_key")
    calls = tuple((*call[:at], own.get(call[at], call[at]), *call[at + 1 :]) for call in rows.calls)
    answers = tuple((own.get(key, key), *rest) for key, *rest in rows.answers)
    return rows._replace(calls=calls, answers=answers)


def _of_trajectory(db: sqlite3.Connection, table: str, column: str, row: int) -> list[dict[str, Any]]:
    """The rows of a table that are about one trajectory, without what places them."""
    found = rows_as_dicts(db.execute(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY rowid", (row,)))  # noqa: S608
    return [{name: value for name, value in columns.items() if name not in _PLACED} for columns in found]
