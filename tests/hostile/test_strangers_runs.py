"""Run files of strangers: tables that are none, statements that would never end, and schemas made of something else."""

from __future__ import annotations

import random
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from replay.errors import RunFileError
from replay.runfile import Run, connection
from replay.runfile.connection import LimitedConnection
from replay.runfile.salvage import salvage_run
from replay.runfile.schema import TABLES
from tests.runs import call, failed, make_run, schema, server, write_trajectory

Replay = Callable[..., subprocess.CompletedProcess[str]]
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
NAMES = [
    "meta", "servers", "files", "trajectories", "calls", "outcome_counts", "call_groups", "call_group_index",
    "task_runs", "findings", "journal", "answers", "alignments", "aligned_tasks", "task_scores", "reference_tasks",
    "ratings",
]  # fmt: skip


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A sound run, to be made a stranger's."""
    calls = [failed("s/get", {"name": "x"}, "Error: 'x' not found"), call("s/get", {"name": "y"}, "fine")]
    file = write_trajectory(tmp_path / "a.trajectory.json", calls)
    return make_run(tmp_path / "evil.db", [file], server("s", get=schema("name")))


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def columns_of(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def as_view(path: Path, table: str, source: str) -> None:
    columns = ", ".join(f"i AS {name}" for name in columns_of(path, table))
    change(
        path,
        "DROP TABLE IF EXISTS words",
        f"DROP TABLE {table}",
        f"CREATE VIEW {table} AS {source} SELECT {columns} FROM n",
    )


@pytest.mark.parametrize("table", NAMES)
def test_a_table_that_is_an_endless_view_is_refused(evil: Path, table: str) -> None:
    as_view(evil, table, ENDLESS)
    for opened in (Run.read, Run.open):
        with pytest.raises(RunFileError, match=r"the view .* is not ours|not a run file"):
            opened(evil)
    with pytest.raises(RunFileError):
        salvage_run(evil, evil.with_name("saved.db"))


ADDED = {
    "another view": f"CREATE VIEW extra AS {ENDLESS} SELECT i FROM n",
    "a trigger on calls": "CREATE TRIGGER extra AFTER INSERT ON calls BEGIN DELETE FROM journal; END",
    "a trigger on findings": f"CREATE TRIGGER x AFTER INSERT ON findings BEGIN {ENDLESS} SELECT max(i) FROM n; END",
    "a trigger on task_runs": "CREATE TRIGGER x BEFORE UPDATE ON task_runs BEGIN SELECT RAISE(ABORT, 'no'); END",
    "a trigger on the journal": "CREATE TRIGGER x AFTER INSERT ON journal BEGIN DELETE FROM journal; END",
    "a trigger on meta": "CREATE TRIGGER x AFTER UPDATE ON meta BEGIN UPDATE meta SET value = value || value; END",
    "a computed column": "ALTER TABLE answers ADD COLUMN heavy AS (hex(zeroblob(400000000)))",
    "a computed column of calls": "ALTER TABLE calls ADD COLUMN heavy AS (length(hex(zeroblob(99999999)) || message))",
    "a virtual table": "CREATE VIRTUAL TABLE extra USING fts5(a)",
    "a virtual table with a view behind it": "CREATE VIRTUAL TABLE extra USING fts5(a, content='calls')",
}


@pytest.mark.parametrize("statement", ADDED.values(), ids=ADDED)
def test_what_computes_something_is_refused(evil: Path, statement: str) -> None:
    change(evil, statement)
    for opened in (Run.read, Run.open):
        with pytest.raises(RunFileError, match="is not ours"):
            opened(evil)


@pytest.mark.parametrize("trigger", ["calls_inserted", "calls_deleted", "trajectories_deleted", "words_inserted"])
def test_a_trigger_of_our_name_with_another_body_is_refused(evil: Path, trigger: str) -> None:
    change(
        evil,
        f"DROP TRIGGER {trigger}",
        f"CREATE TRIGGER {trigger} AFTER INSERT ON calls BEGIN DELETE FROM journal; END",
    )
    with pytest.raises(RunFileError, match="is not ours"):
        Run.open(evil)


def test_a_table_of_the_users_own_beside_ours_is_left_alone(evil: Path) -> None:
    change(evil, "CREATE TABLE notes (call TEXT, note TEXT)", "CREATE INDEX by_tool ON calls (tool)")
    with Run.read(evil) as run:
        run.check_has_verdicts()
    Run.open(evil).close()


VERBS = [
    ["report"], ["report", "--format", "json"], ["report", "--format", "html"], ["report", "--format", "csv"],
    ["compare"], ["tools"], ["known", "list"], ["diff", "evil.db", "evil.db"], ["cassette", "export", "x.cassette"],
    ["export", "--format", "openai", "-o", "out"], ["recover", "evil.db"],
    ["classify", "a.trajectory.json", "--offline"],
]  # fmt: skip


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_refuses_such_a_run_in_a_sentence(evil: Path, replay: Replay, words: list[str]) -> None:
    as_view(evil, "calls", ENDLESS)
    named = "evil.db" in words
    done = replay(*words, *([] if named else ["--run", "evil.db"]))
    assert done.returncode not in (0, 70), done.stdout
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_statement_that_goes_on_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_TURNS", 3)
    with closing(sqlite3.connect(":memory:", factory=LimitedConnection)) as db:
        for query in ("SELECT count(*) FROM n", "SELECT max(i) FROM n", "SELECT i FROM n WHERE i < 0"):
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                db.execute(f"{ENDLESS} {query}").fetchall()
        for _ in range(10):  # the limit is of each, not of all
            assert db.execute(f"{ENDLESS} SELECT count(*) FROM (SELECT 1 FROM n LIMIT 100000)").fetchone() == (100_000,)


def test_one_that_is_ended_is_told_as_the_files_fault(evil: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_MAX_TURNS", 1)
    with pytest.raises(RunFileError, match="takes too long"), Run.read(evil) as run:
        run.connection.execute(f"{ENDLESS} SELECT max(i) FROM n").fetchone()


@pytest.mark.hostile
@pytest.mark.parametrize("seed", range(60))
def test_whatever_a_stranger_makes_of_the_schema_no_verb_hangs_or_breaks(evil: Path, replay: Replay, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(dice.randint(1, 3)):
        table, other = dice.sample(NAMES, 2)
        statement = dice.choice(
            [
                f"DROP TABLE {table}",
                f"ALTER TABLE {table} RENAME TO was_{table}",
                f"CREATE VIEW extra{dice.random()} AS SELECT * FROM {other}".replace("0.", "_"),
                f"CREATE TRIGGER t{dice.random()} AFTER INSERT ON {table} BEGIN DELETE FROM {other}; END".replace(
                    "0.", "_"
                ),
                f"ALTER TABLE {table} ADD COLUMN extra AS (1 + 1)",
                f"ALTER TABLE {table} ADD COLUMN more TEXT DEFAULT 'x'",
                f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1",
                f"CREATE INDEX i{dice.random()} ON {table} (abs(1))".replace("0.", "_"),
            ]
        )
        try:
            change(evil, statement)
        except sqlite3.Error:
            continue
    for words in dice.sample([words for words in VERBS if "evil.db" not in words], 3):
        done = replay(*words, "--run", "evil.db")
        assert done.returncode != 70, (statement, words, done.stderr)
        assert "Traceback" not in done.stderr, (statement, words, done.stderr)


def test_the_names_are_all_of_our_tables() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(TABLES)
        assert sorted(NAMES) == sorted(
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        )
