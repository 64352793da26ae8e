"""The run: one SQLite file that holds what was replayed, survives a crash, and is resumed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from replay.errors import RunFileError, UsageError
from replay.json_values import encode
from replay.records import (
    Answer,
    CallResult,
    FleetFacts,
    Server,
    Trajectory,
    canonical,
    digest,
)
from replay.runfile.connection import (
    check_is_private,
    check_is_run,
    open_connection,
    prepare_tables,
    readable_path,
    remove_run,
    take_lock,
)
from replay.runfile.effects_journal import EffectsJournal, absolute_path, is_there
from replay.runfile.rows import (
    call_columns,
    insert_calls,
    keep_answer,
    load_answer,
    pack_text,
    with_own_key,
)
from replay.runfile.run_inputs import forget_judged_file
from replay.runfile.salvage import damage_behind
from replay.runfile.task_runs import save_task_run
from replay.runfile.trajectory_state import (
    MAY_BE_TRIED_AGAIN,
    TrajectoryState,
    forget_trajectory,
    unfinished_state,
)
from replay.runfile.trajectory_state import retry as retry_calls
from replay.safety.redaction import Redactor


class Run:
    """A run file, open for writing by one process; any number may read it meanwhile."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: int | None = None, redactor: Redactor | None = None
    ) -> None:
        self.path, self.connection, self._lock = path, connection, lock
        self.redactor = redactor or Redactor()
        self._saved_servers: dict[str, Server] = {}
        self._read_servers: dict[str, Server] = {}
        """By their records: a list of a hundred thousand tools is read once."""
        self._left_behind: dict[str, list[tuple[int, str]]] | None = None

    @classmethod
    def open(cls, path: Path, *, fresh: bool = False, redactor: Redactor | None = None) -> Self:
        """Open a run for writing, and make it where there is none.

        Args:
            path: of the run file.
            fresh: start over; what it held is gone.
            redactor: takes the secrets out of all that is written; by default the common token shapes.

        Raises:
            RunFileError: it cannot be written, is not a run file, is newer than we are, or another process writes it.
        """
        check_is_run(path)
        check_is_private(path)
        lock = take_lock(path)
        try:
            if fresh:
                remove_run(path)
            connection = open_connection(path, readonly=False)
            prepare_tables(path, connection)
        except BaseException:
            Path(f"{path}-lock").unlink(missing_ok=True)
            os.close(lock)
            raise
        return cls(path, connection, lock, redactor)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open a run for reading, also while it grows. One of an older version is read from a copy.

        Raises:
            RunFileError: there is none, it is not a run file, or it is newer than we are.
        """
        if not path.exists():
            raise RunFileError(str(path), "there is no run yet; make one with: replay classify results/*.json")
        return cls(path, open_connection(readable_path(path), readonly=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        damaged = None if error is None else damage_behind(error, self.path)
        if damaged is None:
            self.close()
            return
        with suppress(sqlite3.Error):
            self.close()
        raise damaged from error

    def close(self) -> None:
        """Close the file; what was written stands."""
        self.flush()
        self.connection.close()
        if self._lock is not None:
            Path(f"{self.path}-lock").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write several things, all or none; within another transaction they belong to that one."""
        if self.connection.in_transaction:
            yield self.connection
            return
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            if self.connection.in_transaction:  # a full disk has ended it already
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def flush(self) -> None:
        """Commit what is written and in no transaction of its own."""
        if self.connection.in_transaction:
            self.connection.execute("COMMIT")

    # --- servers

    def save_servers(self, servers: Iterable[Server]) -> None:
        """Keep what each server is. One that did not start does not overwrite what is known from when it did."""
        with self.transaction() as db:
            for server in servers:
                if self._saved_servers.get(server.name) == server:
                    continue
                db.execute(
                    "INSERT INTO servers VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE "
                    "SET digest = excluded.digest, record = excluded.record",
                    (server.name, server.digest, self.redactor.record_text(server).decode()),
                )
                self._saved_servers[server.name] = server

    def servers(self) -> dict[str, Server]:
        """The servers, by their name in the fleet."""
        rows = self.connection.execute("SELECT record FROM servers ORDER BY name")
        self._read_servers = {
            record: self._read_servers.get(record) or Server.model_validate_json(record) for (record,) in rows
        }
        return {server.name: server for server in self._read_servers.values()}

    def save_facts(self, facts: FleetFacts) -> None:
        """Keep what must be known of the fleet to read its answers again."""
        record = canonical(facts.model_dump(mode="json"))
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('fleet', ?)", (record,))

    def save_trials(self, trials: int) -> None:
        """Keep how often each call was re-issued."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('trials', ?)", (str(trials),))

    def trials(self) -> int:
        """How often each call was re-issued."""
        found = self.connection.execute("SELECT value FROM meta WHERE key = 'trials'").fetchone()
        return 1 if found is None else int(found[0])

    def facts(self) -> FleetFacts | None:
        """What is known of the fleet; None where no live run was made."""
        found = self.connection.execute("SELECT value FROM meta WHERE key = 'fleet'").fetchone()
        return None if found is None else FleetFacts.model_validate_json(found[0])

    # --- trajectories

    def begin(
        self,
        trajectory: Trajectory,
        *,
        file: str,
        format: str,  # noqa: A002
        policy: str,
        retry: bool = False,
        record: bool = True,
    ) -> TrajectoryState:
        """Make room for a trajectory, or find out how far an earlier process came with it.

        A trajectory that changed, or that was judged under another policy, starts over; what its calls with effects
        got stays in the journal, so that they are never sent twice. With `retry`, a done trajectory goes on from the
        first call that the environment kept from its verdict. Without `record` the trajectory itself is not written:
        `finish` follows in the same transaction, and writes it.
        """
        new_digest = _digest_of(trajectory)
        with self.transaction() as db:
            file_id = self.file_row(file, trajectory.model, format)
            found = db.execute(
                "SELECT id, digest, policy, done FROM trajectories WHERE file = ? AND name = ?",
                (file_id, self._name(trajectory)),
            ).fetchone()
            if found is not None and not _is_digest_of(found[1], trajectory, new_digest):
                forget_trajectory(db, found[0])
                found = None
            if found is None:
                row = self._insert_trajectory(db, file_id, trajectory, new_digest, policy, record=record)
                return TrajectoryState(row, False, {})
            row, _, old_policy, done = found
            if old_policy != policy:
                db.execute("DELETE FROM calls WHERE trajectory = ?", (row,))
                db.execute("UPDATE trajectories SET done = 0, policy = ? WHERE id = ?", (policy, row))
                done = False
            retried = retry_calls(db, row, self.stateful_servers()) if done and retry else 0
        if done and not retried:
            return TrajectoryState(row, True, {})
        return unfinished_state(self.connection, row, trajectory)._replace(retried=retried)

    def stateful_servers(self) -> tuple[str, ...]:
        """Those of which each trajectory has a process of its own."""
        facts = self.facts()
        return tuple(name for name, server in facts.servers.items() if server.stateful) if facts else ()

    def is_done(self, trajectory: Trajectory, *, file: str, policy: str, retry: bool = False) -> bool:
        """Whether every call of a trajectory, as it is now, has its verdict under this policy.

        Args:
            trajectory: as it was read.
            file: its results file.
            policy: digest of what it is judged under.
            retry: a call that may be tried again has no verdict that counts.
        """
        undecided = f"EXISTS (SELECT 1 FROM calls c WHERE c.trajectory = t.id AND {MAY_BE_TRIED_AGAIN})"  # noqa: S608
        found = self.connection.execute(
            "SELECT t.digest FROM trajectories t JOIN files f ON f.id = t.file "  # noqa: S608
            f"WHERE f.absolute_path = ? AND t.name = ? AND t.policy = ? AND t.done AND NOT {undecided if retry else 0}",
            (absolute_path(file), self._name(trajectory), policy),
        ).fetchone()
        return found is not None and _is_digest_of(found[0], trajectory, _digest_of(trajectory))

    def forget_verdicts(self, files: Iterable[str]) -> None:
        """Make every call of these files be judged anew; stored answers and the journal of effects stay."""
        with self.transaction() as db:
            for path in files:
                forget_judged_file(db, path)
                db.execute(
                    "UPDATE trajectories SET done = 0, policy = '' "
                    "WHERE file IN (SELECT id FROM files WHERE absolute_path = ?)",
                    (absolute_path(path),),
                )

    def follow(self, path: str, model: str, ids: Iterable[str]) -> list[str]:
        """Take out the trajectories that a results file does not hold any more, and name its model as it is read now.

        What was noted of calls with effects stays, so that none is sent twice, and so do the answers.

        Args:
            path: of the file.
            model: of its first trajectory.
            ids: of its trajectories.

        Returns:
            A sentence where something was taken out.
        """
        with self.transaction() as db:
            names = {self.name_of(identifier) for identifier in ids}
            absolute = absolute_path(path)
            found = db.execute("SELECT id FROM files WHERE absolute_path = ?", (absolute,)).fetchone()
            if found is None:
                row = self._moved_to(absolute, names)
                if row is None:
                    return []
                db.execute("UPDATE files SET path = ?, absolute_path = ? WHERE id = ?", (path, absolute, row))
                found = (row,)
            db.execute("UPDATE files SET model = ? WHERE id = ?", (self.redactor.text(model), found[0]))
            held = db.execute("SELECT id, name FROM trajectories WHERE file = ?", found).fetchall()
            gone = [row for row, name in held if name not in names]
            for row in gone:
                forget_trajectory(db, row)
        if not gone:
            return []
        what = "1 trajectory that is" if len(gone) == 1 else f"{len(gone)} trajectories that are"
        return [f"{path}: {what} not in it any more, or named otherwise now, left the run"]

    def _moved_to(self, absolute: str, names: set[str]) -> int | None:
        """The row of a file that was moved here: it has this name and one of these trajectories, and is gone from where
        it was; of several the one whose path ends most like this one.
        """
        if self._left_behind is None:
            self._left_behind = {}
            for row, old in self.connection.execute("SELECT id, absolute_path FROM files WHERE absolute_path NOTNULL"):
                if not is_there(old):
                    self._left_behind.setdefault(os.path.basename(old), []).append((row, old))  # noqa: PTH119
        candidates = self._left_behind.get(os.path.basename(absolute), [])  # noqa: PTH119
        for row, old in sorted(candidates, key=lambda candidate: -_common_end(candidate[1], absolute)):
            held = self.connection.execute("SELECT name FROM trajectories WHERE file = ?", (row,))
            if any(name in names for (name,) in held):
                candidates.remove((row, old))
                return row
        return None

    def journal(self) -> EffectsJournal:
        """The journal of calls with effects, in no transaction: what it is told is committed at once, and alone."""
        if self.connection.in_transaction:
            self.flush()
        return EffectsJournal(self.connection, self.redactor)

    def save_calls(self, row: int, results: Mapping[int, CallResult], *, is_clean: bool = False) -> None:
        """Keep verdicts and their answers; rows that were there are replaced.

        Args:
            row: of the trajectory, from `begin`.
            results: calls of it with their verdicts, by their ordinals.
            is_clean: the calls themselves, as they were recorded, are known to hold no secret.
        """
        if not results:
            return
        with self.transaction() as db:
            file, task_type = db.execute("SELECT file, task_type FROM trajectories WHERE id = ?", (row,)).fetchone()
            of_trajectory = {"trajectory": row, "file": file, "task_type": task_type}
            rows = [
                call_columns(result, self.redactor, is_clean=is_clean) | of_trajectory | {"ordinal": ordinal}
                for ordinal, result in results.items()
            ]
            places = [(row, ordinal) for ordinal in results]
            db.executemany("DELETE FROM calls WHERE trajectory = ? AND ordinal = ?", places)
            insert_calls(db, tuple(rows[0]), [tuple(columns.values()) for columns in rows])
            for result in results.values():
                if result.key is not None and result.answer is not None:
                    server = self._saved_servers.get(result.server or "")
                    server_digest = (server.digest or "") if server else ""
                    keep_answer(db, result.key, result.answer, result, server_digest, self.redactor)

    def finish(
        self,
        row: int,
        trajectory: Trajectory,
        results: Iterable[CallResult],
        saved: Mapping[str, CallResult] | None = None,
    ) -> Trajectory | None:
        """Keep the verdicts of a trajectory, all or none, and with them its data edges.

        Args:
            row: from `begin`.
            trajectory: as it was replayed.
            results: its calls, each with its verdict, in the order of the steps.
            saved: what `save_calls` kept already, by position; it is not written again where nothing changed.

        Returns:
            The trajectory, where the run holds it as it is; None where secrets were taken out.
        """
        ordinals = {call.position: ordinal for ordinal, call in enumerate(trajectory.calls())}
        record, is_clean = self._trajectory_text(trajectory)
        with self.transaction() as db:
            new = {
                ordinals[result.call.position]: with_own_key(
                    db, result, self.stateful_servers, trajectory, self.redactor
                )
                for result in results
                if saved is None or saved.get(result.call.position) is not result
            }
            self.save_calls(row, new, is_clean=is_clean)
            db.execute("UPDATE trajectories SET done = 1, record = ? WHERE id = ?", (pack_text(record), row))
        return trajectory if is_clean else None

    def file_ids(self, paths: Iterable[str]) -> tuple[int, ...]:
        """The run's own numbers of results files, by their paths; those that it does not hold are left out."""
        query = "SELECT id FROM files WHERE absolute_path = ?"
        return tuple(row for path in paths for (row,) in self.connection.execute(query, (absolute_path(path),)))

    def file_row(self, path: str, model: str, format: str, number: int | None = None) -> int:  # noqa: A002
        """The run's own number of a results file, which is added where the run does not hold it: as `number`."""
        absolute = absolute_path(path)
        self.connection.execute(
            "INSERT OR IGNORE INTO files (id, path, model, format, absolute_path) VALUES (?, ?, ?, ?, ?)",
            (number, path, self.redactor.text(model), format, absolute),
        )
        found = self.connection.execute("SELECT id FROM files WHERE absolute_path = ?", (absolute,)).fetchone()
        return int(found[0])

    def next_file_row(self) -> int:
        """The number that the next results file gets."""
        return int(self.connection.execute("SELECT ifnull(max(id), 0) + 1 FROM files").fetchone()[0])

    def name_of(self, identifier: str) -> str:
        """The id of a trajectory as the run keeps it: without secrets; two that differ in a secret alone stay two."""
        name = self.redactor.text(identifier)
        return name if name == identifier else f"{name}-{digest(identifier)[:8]}"

    def file_count(self) -> int:
        """How many results files the run holds."""
        return int(self.connection.execute("SELECT count(*) FROM files").fetchone()[0])

    def check_has_verdicts(self) -> None:
        """See that there is something to report.

        Raises:
            UsageError: no call has its verdict.
        """
        if self.connection.execute("SELECT 1 FROM calls LIMIT 1").fetchone() is None:
            made = "make some with: replay classify results/*.json"
            raise UsageError(f"{self.path}: this run has no verdicts yet; {made}")

    # --- answers

    def stored_answer(self, key: str) -> Answer | None:
        """The answer under a key of `answer_key`."""
        return load_answer(self.connection, key)

    def has_answers(self) -> bool:
        """Whether any answer is stored."""
        return self.connection.execute("SELECT 1 FROM answers LIMIT 1").fetchone() is not None

    # --- inside

    def _trajectory_text(self, trajectory: Trajectory) -> tuple[bytes, bool]:
        """A trajectory as JSON text without secrets, and whether it is known to hold none itself."""
        name = self._name(trajectory)
        text = self.redactor.clean_record_text(trajectory) if name == trajectory.id else None
        return (text, True) if text else (encode(self.redactor.searched_record(trajectory) | {"id": name}), False)

    def _name(self, trajectory: Trajectory) -> str:
        return self.name_of(trajectory.id)

    def _insert_trajectory(
        self, db: sqlite3.Connection, file: int, trajectory: Trajectory, new_digest: str, policy: str, *, record: bool
    ) -> int:
        task = trajectory.task
        cursor = db.execute(
            "INSERT INTO trajectories (file, name, task_type, question, steps, calls, digest, policy, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file,
                self._name(trajectory),
                self.redactor.text(task.type) if task.type else task.type,
                self.redactor.text(task.question) if task.question else None,
                len(trajectory.steps),
                sum(len(step.calls) for step in trajectory.steps),
                new_digest,
                policy,
                pack_text(self._trajectory_text(trajectory)[0]) if record else b"",
            ),
        )
        row = int(cursor.lastrowid or 0)
        save_task_run(db, row, self._name(trajectory), trajectory, self.redactor)
        return row


def _digest_of(trajectory: Trajectory) -> str:
    """What tells whether a trajectory changed; where its file lies does not count."""
    return digest(trajectory.model_dump(mode="json", exclude={"source": {"file"}}))


def _is_digest_of(kept: str, trajectory: Trajectory, current: str) -> bool:
    """Whether what the run keeps is this trajectory; in older run files the path of its file counted."""
    return kept == current or kept == digest(trajectory.model_dump(mode="json"))


def _common_end(*paths: str) -> int:
    """How many of their last names paths share."""
    return len(os.path.commonprefix([path.split("/")[::-1] for path in paths]))  # noqa: RUF071
