"""The tables of a run file."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import cache
from typing import Any, Final

from replay.records import Call, Trajectory, digest
from replay.records.alignment import TRAJECTORY_MATCH
from replay.records.rating import MCPBENCH, MCPEVAL
from replay.records.tool_name import read_name
from replay.runfile.effects_journal import effect_keys
from replay.runfile.rows import unpack
from replay.runfile.task_runs import rebuild_task_runs, rebuild_task_scores, scores_of, times_of

FORMAT = "replay.run-file"
VERSION = 8
APPLICATION_ID = 0x52504C59
"""In the header of our files ("RPLY"): what tells them from the SQLite files of other programs."""

TABLES = """
-- Format and version, with what the run was made, what could not be read, and under `judged:3` what file 3 was when it
-- was judged by recorded answers: while that is the same, its verdicts stand, and it is not read again. Under
-- `session:/path` what tells the calls of a session file from those of others, and under `repeated` how many calls of a
-- file were left out, since another one has them too.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row a server of the fleet that a trajectory names: the record as JSON.
CREATE TABLE servers (name TEXT PRIMARY KEY, digest TEXT, record TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE files (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,                -- as it was named
  model TEXT NOT NULL,
  format TEXT NOT NULL,
  absolute_path TEXT UNIQUE          -- the same file by another name is the same file
);

CREATE TABLE trajectories (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL REFERENCES files (id),
  name TEXT NOT NULL,                -- the trajectory's own id
  task_type TEXT,
  question TEXT,
  steps INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  digest TEXT NOT NULL,              -- SHA-256 of the record
  policy TEXT NOT NULL,              -- what it was judged under: fleet, effects allowed, rules, offline or live
  done INTEGER NOT NULL DEFAULT 0,   -- 1 when every call has its verdict
  record BLOB NOT NULL,              -- the Trajectory record as JSON, compressed with zlib
  UNIQUE (file, name)
);
CREATE INDEX trajectories_by_type ON trajectories (task_type, file);

CREATE TABLE calls (
  id INTEGER PRIMARY KEY,
  trajectory INTEGER NOT NULL REFERENCES trajectories (id),
  ordinal INTEGER NOT NULL,          -- from 0, in the order of the steps
  file INTEGER NOT NULL,
  task_type TEXT,
  position TEXT NOT NULL,            -- s2c1
  server TEXT,
  tool TEXT,                         -- the tool's own name, or the name as written where no server is known
  outcome TEXT NOT NULL,
  reason TEXT,
  rule TEXT NOT NULL,
  evidence TEXT NOT NULL,
  certainty TEXT NOT NULL,
  message TEXT NOT NULL,
  recorded TEXT,
  replayed TEXT,
  drift TEXT,
  caused_by TEXT,
  gap TEXT,
  arguments TEXT,                    -- the start of the arguments as JSON, to show and to search
  answer_key TEXT,                   -- in the table answers
  details TEXT NOT NULL,             -- the rest of the Verdict record as JSON
  UNIQUE (trajectory, ordinal)
);
CREATE INDEX calls_by_tool ON calls (server, tool, outcome, id);
CREATE INDEX calls_by_cause ON calls (file, trajectory, caused_by, outcome) WHERE caused_by IS NOT NULL;

-- How many calls there are; kept by the triggers below, like all that follows. Absent values stand as ''.
CREATE TABLE outcome_counts (
  file INTEGER NOT NULL, task_type TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (file, task_type, outcome, reason)
) WITHOUT ROWID;
-- How many calls there are of each group: calls of one file that a filter cannot tell apart.
CREATE TABLE call_groups (
  id INTEGER PRIMARY KEY,
  file INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
  rule TEXT NOT NULL, evidence TEXT NOT NULL, certainty TEXT NOT NULL, drift TEXT NOT NULL, caused INTEGER NOT NULL,
  n INTEGER NOT NULL,
  UNIQUE (file, server, tool, outcome, reason, rule, evidence, certainty, drift, caused)
);
-- Which group each call is in: what a filter walks over, instead of the wide rows of calls.
CREATE TABLE call_group_index (
  trajectory INTEGER NOT NULL, ordinal INTEGER NOT NULL, call INTEGER NOT NULL, call_group INTEGER NOT NULL,
  PRIMARY KEY (trajectory, ordinal)
) WITHOUT ROWID;
CREATE INDEX calls_by_group ON call_group_index (call_group, trajectory, ordinal, call);
CREATE TRIGGER calls_inserted AFTER INSERT ON calls BEGIN
  INSERT INTO outcome_counts VALUES (NEW.file, ifnull(NEW.task_type, ''), NEW.outcome, ifnull(NEW.reason, ''), 1)
  ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO call_groups (file, server, tool, outcome, reason, rule, evidence, certainty, drift, caused, n)
  VALUES (NEW.file, ifnull(NEW.server, ''), ifnull(NEW.tool, ''), NEW.outcome, ifnull(NEW.reason, ''), NEW.rule,
    NEW.evidence, NEW.certainty, ifnull(NEW.drift, ''), NEW.caused_by IS NOT NULL, 1)
  ON CONFLICT DO UPDATE SET n = n + 1;
  INSERT INTO call_group_index SELECT NEW.trajectory, NEW.ordinal, NEW.id, id FROM call_groups
  WHERE file = NEW.file AND server = ifnull(NEW.server, '') AND tool = ifnull(NEW.tool, '')
    AND outcome = NEW.outcome AND reason = ifnull(NEW.reason, '') AND rule = NEW.rule AND evidence = NEW.evidence
    AND certainty = NEW.certainty AND drift = ifnull(NEW.drift, '') AND caused = (NEW.caused_by IS NOT NULL);
END;
CREATE TRIGGER calls_deleted AFTER DELETE ON calls BEGIN
  UPDATE outcome_counts SET n = n - 1 WHERE file = OLD.file AND task_type = ifnull(OLD.task_type, '')
    AND outcome = OLD.outcome AND reason = ifnull(OLD.reason, '');
  UPDATE call_groups SET n = n - 1
  WHERE id = (SELECT call_group FROM call_group_index WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal);
  DELETE FROM call_group_index WHERE trajectory = OLD.trajectory AND ordinal = OLD.ordinal;
  DELETE FROM findings WHERE trajectory = OLD.trajectory;
  UPDATE task_runs SET diagnosed = 0 WHERE trajectory = OLD.trajectory AND diagnosed;
END;

-- One row a trajectory: which task of which model it is a run of, and how it ended by the recording's own account.
CREATE TABLE task_runs (
  trajectory INTEGER PRIMARY KEY,
  model TEXT NOT NULL,               -- of the trajectory; a file may hold several models
  task TEXT NOT NULL,                -- the same in every run of the task
  labels TEXT NOT NULL,              -- JSON object: difficulty, family, further fields of --names
  parent TEXT,                       -- of a sub-agent: the task whose call started it
  passed INTEGER,                    -- 1 or 0; NULL where the recording does not say
  score REAL,                        -- reward or score, as the source gives it
  input_tokens INTEGER,
  output_tokens INTEGER,
  diagnosed INTEGER NOT NULL DEFAULT 0,  -- 1 when its findings are in the table findings
  started_at TEXT,                   -- UTC, 2026-11-20T13:00:00; NULL where the recording does not say
  seconds REAL,                      -- from there to its last call's end, as far as the recording has times
  recorded_scores TEXT               -- JSON object: what the recording's own judge gave, each from 0 to 1
);
CREATE TRIGGER trajectories_deleted AFTER DELETE ON trajectories BEGIN
  DELETE FROM task_runs WHERE trajectory = OLD.id;
  DELETE FROM findings WHERE trajectory = OLD.id;
  UPDATE task_scores SET trajectory = NULL WHERE trajectory = OLD.id;
END;

-- What calls and trajectories show (docs/findings.md), one row a kind and call.
CREATE TABLE findings (
  trajectory INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,          -- of the call that it is about; -1 for the trajectory as a whole
  kind TEXT NOT NULL,
  certainty TEXT NOT NULL,
  n INTEGER NOT NULL,                -- how many of this kind
  PRIMARY KEY (trajectory, ordinal, kind)
) WITHOUT ROWID;
CREATE INDEX findings_by_kind ON findings (kind, trajectory, ordinal, n);

-- Written, and on the disk, before a call with effects outside a sandbox is sent. It is told by what was sent, so that
-- it is known again in a file that was edited or renamed. One without an answer was in flight when a run was cut off.
CREATE TABLE journal (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,                -- of the results file that has the call, absolute
  trajectory TEXT NOT NULL,          -- the trajectory's own id
  question TEXT NOT NULL,            -- SHA-256 of its question, or ''
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  arguments TEXT NOT NULL,           -- SHA-256 of the arguments as they were recorded
  occurrence INTEGER NOT NULL,       -- 1 for the first such call of its trajectory
  answer BLOB,                       -- the Answer record as JSON, with what came on `stderr`, compressed with zlib
  UNIQUE (arguments, server, tool, occurrence, trajectory, path)
);

-- Every answer that came, under the key of `replay.replayer.answer_key`, or under one of the trajectory's own where a
-- server with state gave another trajectory, which began alike, another answer; with `:stderr` behind it, what the
-- server wrote to stderr beside an answer that was not a success.
CREATE TABLE answers (
  key TEXT PRIMARY KEY, server TEXT NOT NULL, server_digest TEXT NOT NULL, tool TEXT NOT NULL,
  answer BLOB NOT NULL               -- the Answer record as JSON, compressed with zlib
);

-- What `replay align` found: one row a file, and one a task.
CREATE TABLE alignments (file INTEGER PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE aligned_tasks (
  file INTEGER NOT NULL, task TEXT NOT NULL, record BLOB NOT NULL, PRIMARY KEY (file, task)
) WITHOUT ROWID;
-- The figures of each aligned task, to sum up without reading its record.
CREATE TABLE task_scores (
  file INTEGER NOT NULL, task TEXT NOT NULL,
  trajectory INTEGER,                -- that was aligned; NULL where the run does not hold it any more
  task_type TEXT,
  reference_calls INTEGER NOT NULL, predicted_calls INTEGER NOT NULL, matched INTEGER NOT NULL, steps INTEGER NOT NULL,
  recall REAL NOT NULL, precision REAL NOT NULL,
  argument_similarity REAL NOT NULL, argument_similarity_strong REAL NOT NULL,
  step_coherence REAL NOT NULL, order_consistency REAL NOT NULL, merge_purity REAL NOT NULL,
  completion_rate REAL, information_grounding_rate REAL,
  trajectory_strict_match REAL, trajectory_unordered_match REAL, trajectory_subset_match REAL,
  trajectory_superset_match REAL, tool_call_f1 REAL,
  PRIMARY KEY (file, task)
) WITHOUT ROWID;
CREATE INDEX task_scores_by_trajectory ON task_scores (trajectory);
-- The reference's calls of each aligned task, as the alignment counts them.
CREATE TABLE reference_tasks (task TEXT PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;

-- What judges replied, one row a judge, task run, prompt and order of its criteria: kept as it came.
CREATE TABLE ratings (
  path TEXT NOT NULL,                -- of the results file, absolute
  trajectory TEXT NOT NULL,          -- the trajectory's own id
  protocol TEXT NOT NULL,            -- m3, mcpbench, mcpeval
  prompt TEXT NOT NULL,              -- name/version
  judge TEXT NOT NULL,
  shuffle INTEGER NOT NULL,          -- seed of the order of the criteria; 0: the prompt's own
  judge_model TEXT NOT NULL,
  digest TEXT NOT NULL,              -- SHA-256 of the prompt as it was sent
  record BLOB NOT NULL,              -- the Rating record as JSON, compressed with zlib
  PRIMARY KEY (path, trajectory, protocol, prompt, judge, shuffle)
) WITHOUT ROWID;
"""

WORDS = """
-- The words of each call, to search: what was called, with what, and what the verdict says.
CREATE VIRTUAL TABLE words USING fts5 (
  server, tool, arguments, message, content = 'calls', content_rowid = 'id', detail = 'none', columnsize = 0
);
CREATE TRIGGER words_inserted AFTER INSERT ON calls BEGIN
  INSERT INTO words (rowid, server, tool, arguments, message)
  VALUES (NEW.id, NEW.server, NEW.tool, NEW.arguments, NEW.message);
END;
CREATE TRIGGER words_deleted AFTER DELETE ON calls BEGIN
  INSERT INTO words (words, rowid, server, tool, arguments, message)
  VALUES ('delete', OLD.id, OLD.server, OLD.tool, OLD.arguments, OLD.message);
END;
"""
"""Made beside the tables where SQLite has its full-text search, as it nearly always does."""


_RENAMED_IN_2: Final = (
    "ALTER TABLE tallies RENAME TO outcome_counts",
    "ALTER TABLE kinds RENAME TO call_groups",
    "ALTER TABLE call_groups RENAME COLUMN rooted TO caused",
    "ALTER TABLE marks RENAME TO call_group_index",
    "ALTER TABLE call_group_index RENAME COLUMN kind TO call_group",
    "ALTER TABLE files RENAME COLUMN place TO absolute_path",
    "DROP INDEX marks_by_kind",
)
_NEW_IN_4: Final = (
    "calls_deleted",
    "task_runs",
    "trajectories_deleted",
    "findings",
    "findings_by_kind",
    "task_scores",
    "task_scores_by_trajectory",
)
"""Tables, triggers and indexes."""


@cache
def own_statements() -> Mapping[str, str]:
    """What makes each of our tables, indexes and triggers, by name."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        with suppress(sqlite3.OperationalError):
            db.executescript(WORDS)
        return {name: text for name, text in db.execute("SELECT name, sql FROM sqlite_master") if text}


def _from_1_to_2(db: sqlite3.Connection) -> None:
    """Names only. SQLite writes the new ones into the triggers too."""
    for statement in _RENAMED_IN_2:
        db.execute(statement)
    db.execute(own_statements()["calls_by_group"])


def _from_2_to_3(db: sqlite3.Connection) -> None:
    """The journal tells calls by what was sent, and keeps their answers; our files have an application id."""
    db.execute("ALTER TABLE journal RENAME TO old_journal")
    db.execute(own_statements()["journal"])
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
    db.execute("DROP TRIGGER calls_deleted")
    for name in _NEW_IN_4:
        db.execute(own_statements()[name])
    rebuild_task_runs(db)
    rebuild_task_scores(db)


def _add_columns(db: sqlite3.Connection, table: str, columns: Mapping[str, str]) -> None:
    """Those that a table has not: one that an earlier step made has today's."""
    known = {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
    for name, kind in columns.items():
        if name not in known:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _from_4_to_5(db: sqlite3.Connection) -> None:
    """When a trajectory began, and how long it took, stood in the records alone."""
    _add_columns(db, "task_runs", {"started_at": "TEXT", "seconds": "REAL"})
    for row, record in db.execute("SELECT id, record FROM trajectories").fetchall():
        times = times_of(Trajectory.model_validate(unpack(record)))
        db.execute("UPDATE task_runs SET started_at = ?, seconds = ? WHERE trajectory = ?", (*times, row))


def _from_5_to_6(db: sqlite3.Connection) -> None:
    """The replies of judges are kept."""
    db.execute(own_statements()["ratings"])


def _from_6_to_7(db: sqlite3.Connection) -> None:
    """The trajectory matches of aligned tasks."""
    _add_columns(db, "task_scores", dict.fromkeys(TRAJECTORY_MATCH, "REAL"))


def _from_7_to_8(db: sqlite3.Connection) -> None:
    """What judges gave before stood in the records alone; MCP-Bench's files have no one score."""
    _add_columns(db, "task_runs", {"recorded_scores": "TEXT"})
    query = "SELECT t.id, t.record FROM trajectories t JOIN files f ON f.id = t.file WHERE f.format IN (?, ?)"
    for row, record in db.execute(query, (MCPBENCH, MCPEVAL)).fetchall():
        scores = scores_of(Trajectory.model_validate(unpack(record)))
        db.execute("UPDATE task_runs SET recorded_scores = ? WHERE trajectory = ?", (scores, row))
        db.execute("UPDATE task_runs SET score = NULL WHERE trajectory = ? AND ? IS NOT NULL", (row, scores))


STEPS: Final[Mapping[int, Callable[[sqlite3.Connection], None]]] = {
    1: _from_1_to_2,
    2: _from_2_to_3,
    3: _from_3_to_4,
    4: _from_4_to_5,
    5: _from_5_to_6,
    6: _from_6_to_7,
    7: _from_7_to_8,
}
"""Version n to n + 1: what does it, in a transaction."""


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
