"""How the tables of an older run file become those of today, one step a version."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from replay.records import Call, Trajectory, digest
from replay.records.digests import effect_keys
from replay.records.tool_name import read_name
from replay.runfile.json_blob import unpack
from replay.runfile.schema import APPLICATION_ID, VERSION
from replay.runfile.task_runs import rebuild_task_runs, rebuild_task_scores

_FROM_1_TO_2: Final = """
ALTER TABLE tallies RENAME TO outcome_counts;
ALTER TABLE kinds RENAME TO call_groups;
ALTER TABLE call_groups RENAME COLUMN rooted TO caused;
ALTER TABLE marks RENAME TO call_group_index;
ALTER TABLE call_group_index RENAME COLUMN kind TO call_group;
ALTER TABLE files RENAME COLUMN place TO absolute_path;
DROP INDEX marks_by_kind;
CREATE INDEX calls_by_group ON call_group_index (call_group, trajectory, ordinal, call);
"""
"""Names only. SQLite writes the new ones into the triggers too."""

_JOURNAL_OF_3: Final = """
ALTER TABLE journal RENAME TO old_journal;
CREATE TABLE journal (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  trajectory TEXT NOT NULL,
  question TEXT NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  arguments TEXT NOT NULL,
  occurrence INTEGER NOT NULL,
  answer BLOB,
  UNIQUE (arguments, server, tool, occurrence, trajectory, path)
)
"""


_FROM_3_TO_4: Final = (
    "DROP TRIGGER calls_deleted",
    """
CREATE TRIGGER calls_deleted AFTER DELETE ON calls BEGIN
  UPDATE outcome_counts SET n = n - 1 WHERE file = OLD.file AND task_type = ifnull(OLD.task_type, '')
    AND outcome = OLD.outcome AND reason = ifnull(OLD.reason, '');
  UPDATE call_groups SET n = n - 1
  WHERE id = (SELECT call_group FROM call_group_index WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal);
  DELETE FROM call_group_index WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal;
  DELETE FROM findings WHERE trajectory = OLD.trajectory;
  UPDATE task_runs SET diagnosed = 0 WHERE trajectory = OLD.trajectory AND diagnosed;
END
""",
    """
CREATE TABLE task_runs (
  trajectory INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  labels TEXT NOT NULL,
  parent TEXT,
  passed INTEGER,
  score REAL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  diagnosed INTEGER NOT NULL DEFAULT 0
)
""",
    """
CREATE TRIGGER trajectories_deleted AFTER DELETE ON trajectories BEGIN
  DELETE FROM task_runs WHERE trajectory = OLD.id;
  DELETE FROM findings WHERE trajectory = OLD.id;
  UPDATE task_scores SET trajectory = NULL WHERE trajectory = OLD.id;
END
""",
    """
CREATE TABLE findings (
  trajectory INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  certainty TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (trajectory, ordinal, kind)
) WITHOUT ROWID
""",
    "CREATE INDEX findings_by_kind ON findings (kind, trajectory, ordinal, n)",
    """
CREATE TABLE task_scores (
  file INTEGER NOT NULL, task TEXT NOT NULL,
  trajectory INTEGER,
  task_type TEXT,
  reference_calls INTEGER NOT NULL, predicted_calls INTEGER NOT NULL, matched INTEGER NOT NULL, steps INTEGER NOT NULL,
  recall REAL NOT NULL, precision REAL NOT NULL,
  argument_similarity REAL NOT NULL, argument_similarity_strong REAL NOT NULL,
  step_coherence REAL NOT NULL, order_consistency REAL NOT NULL, merge_purity REAL NOT NULL,
  completion_rate REAL, information_grounding_rate REAL,
  PRIMARY KEY (file, task)
) WITHOUT ROWID
""",
    "CREATE INDEX task_scores_by_trajectory ON task_scores (trajectory)",
)


def _from_1_to_2(db: sqlite3.Connection) -> None:
    run_statements(db, _FROM_1_TO_2)


def _from_2_to_3(db: sqlite3.Connection) -> None:
    """The journal tells calls by what was sent, and keeps their answers; our files have an application id."""
    run_statements(db, _JOURNAL_OF_3)
    rows = db.execute("SELECT DISTINCT trajectory FROM old_journal").fetchall()
    for (row,) in rows:
        _move_journal_of(db, row)
    db.execute("DROP TABLE old_journal")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _move_journal_of(db: sqlite3.Connection, row: int) -> None:
    """The entries of one trajectory. Of a call without a verdict only its name tells server and tool."""
    found = db.execute(
        "SELECT f.absolute_path, t.name, t.record FROM trajectories t JOIN files f ON f.id = t.file WHERE t.id = ?",
        (row,),
    ).fetchone()
    if found is None:
        return
    path, name, blob = found
    record = Trajectory.model_validate(unpack(blob))
    judged = {
        position: (server, tool, answer)
        for position, server, tool, answer in db.execute(
            "SELECT c.position, c.server, c.tool, a.answer FROM calls c LEFT JOIN answers a ON a.key = c.answer_key "
            "WHERE c.trajectory = ?",
            (row,),
        )
    }
    servers = [server for (server,) in db.execute("SELECT name FROM servers")]
    keys = effect_keys(
        (call.position, *_target_of(call, judged.get(call.position), servers), call.arguments or {})
        for call in record.calls()
    )
    question = digest(record.task.question) if record.task.question else ""
    for (position,) in db.execute("SELECT position FROM old_journal WHERE trajectory = ?", (row,)).fetchall():
        if position in keys:
            answer = judged[position][2] if position in judged else None
            db.execute(
                "INSERT INTO journal (path, trajectory, question, server, tool, arguments, occurrence, answer) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (path or "", name, question, *keys[position], answer),
            )


def _target_of(call: Call, judged: tuple[str | None, str | None, Any] | None, servers: list[str]) -> tuple[str, str]:
    if judged is not None and judged[0] is not None:
        return judged[0], judged[1] or ""
    if call.server is not None and call.tool is not None:
        return call.server, call.tool
    name = read_name(call.name or "", servers)
    return name.server or "", name.tool


def _from_3_to_4(db: sqlite3.Connection) -> None:
    """What stood in the records alone has tables of its own; findings are found when they are first asked for."""
    for statement in _FROM_3_TO_4:
        db.execute(statement.strip())
    rebuild_task_runs(db)
    rebuild_task_scores(db)


STEPS: Final[Mapping[int, Callable[[sqlite3.Connection], None]]] = {
    1: _from_1_to_2,
    2: _from_2_to_3,
    3: _from_3_to_4,
}
"""Version n to n + 1: what does it, in a transaction."""


def run_statements(db: sqlite3.Connection, text: str) -> None:
    """Run statements one by one; unlike `executescript` this stays in the transaction."""
    for statement in text.split(";"):
        if statement.strip():
            db.execute(statement.strip())


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables from `version` up to today's; each step is done whole or not at all."""
    for number in range(version, VERSION):
        try:
            connection.execute("BEGIN IMMEDIATE")
            STEPS[number](connection)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(number + 1),))
            connection.execute("COMMIT")
        except (sqlite3.Error, ValueError, zlib.error) as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise
            raise sqlite3.DatabaseError(str(error)) from error
