from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from replay.errors import RunFileError
from replay.records import Call, Outcome, Source, Step, Task, Trajectory
from replay.runfile import Run, summarize
from replay.runfile.call_queries import matching_calls
from replay.runfile.compare_queries import attach, models_to_compare, task_pairs
from replay.runfile.filters import parse, read_vocabulary
from replay.runfile.rows import pack
from replay.runfile.schema import VERSION
from replay.runfile.summary import breakdown, model_counts
from replay_tui.browser import OpenRun

OUTCOMES = ("success", "not_found", "not_found")


def trajectory() -> Trajectory:
    calls = (Call(position=f"s{step}c1", name="files/read", arguments={"path": "x"}) for step in (1, 2, 3))
    return Trajectory(
        id="t1",
        model="m",
        task=Task(question="?"),
        source=Source(file="results.json", format="m3bench", position="$[0]"),
        steps=tuple(Step(calls=(call,)) for call in calls),
        edges=(),
    )


@pytest.fixture
def old_run(tmp_path: Path) -> Path:
    """A run file of version 1: one trajectory of three calls, the third made to fail by the second."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((Path(__file__).parent / "version_1.sql").read_text())
        db.execute("INSERT INTO files VALUES (1, 'results.json', 'm', 'm3bench', ?)", (str(tmp_path / "results.json"),))
        db.execute(
            "INSERT INTO trajectories VALUES (1, 1, 't1', NULL, '?', 3, 3, 'digest', 'policy', 1, ?)",
            (pack(trajectory().model_dump(mode="json", exclude_none=True)),),
        )
        db.executemany(
            "INSERT INTO calls (trajectory, ordinal, file, position, server, tool, outcome, rule, evidence, certainty,"
            " message, caused_by, arguments, details)"
            " VALUES (1, ?, 1, ?, 'files', 'read', ?, 'a.rule', 'recorded', 'certain', 'It says so.', ?, '{}', '{}')",
            [(n, f"s{n + 1}c1", outcome, "s2c1" if n == 2 else None) for n, outcome in enumerate(OUTCOMES)],
        )
        db.commit()
    return path


def version(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return str(db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])


def tables(connection: sqlite3.Connection) -> dict[str, str]:
    """The schema by name, without what is only spelling."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", sql).replace('"', "")) for name, sql in rows}


def test_an_old_run_is_read_as_if_it_were_a_new_one_and_stays_as_it_is(old_run: Path) -> None:
    before = old_run.read_bytes()
    with Run.read(old_run) as run:
        assert run.path == old_run
        assert summarize(run).outcomes[Outcome.NOT_FOUND] == 2
        assert [count.outcomes for count in model_counts(run.connection)] == [
            {Outcome.SUCCESS: 1, Outcome.NOT_FOUND: 2}
        ]
        assert [group.names for group in breakdown(run.connection, "tool")] == [("files", "read")]
        wanted = parse("outcome:failed caused:yes", read_vocabulary(run.connection))
        assert [call for chunk in matching_calls(run.connection, wanted) for call, _ in chunk] == [3]
    assert old_run.read_bytes() == before
    assert version(old_run) == "1"


def test_an_old_run_that_changed_is_read_anew(old_run: Path) -> None:
    with Run.read(old_run) as run:
        assert run.file_count() == 1
    with closing(sqlite3.connect(old_run)) as db:
        db.execute("INSERT INTO files VALUES (2, 'more.json', 'm', 'm3bench', '/more.json')")
        db.commit()
    with Run.read(old_run) as run:
        assert run.file_count() == 2


def test_an_old_run_is_compared_with_a_new_one(old_run: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    with Run.open(new) as run:
        run.begin(trajectory(), file="results.json", format="m3bench", policy="p")
    with Run.read(new) as run:
        attach(run.connection, old_run)
        first, second = models_to_compare(run.connection)
        (pair,) = task_pairs(run.connection, first, second)
        assert (pair.calls, pair.failed) == ((0, 3), (0, 2))


def test_writing_an_old_run_brings_its_tables_up_to_date(old_run: Path, tmp_path: Path) -> None:
    Run.open(old_run).close()
    assert version(old_run) == str(VERSION)
    with Run.open(tmp_path / "fresh.db") as fresh, Run.read(old_run) as migrated:
        assert tables(migrated.connection) == tables(fresh.connection)
    with Run.open(old_run) as run:
        run.connection.execute("DELETE FROM calls WHERE ordinal = 2")
        assert run.connection.execute("SELECT sum(n) FROM outcome_counts").fetchone() == (2,)
        assert run.connection.execute("SELECT sum(n) FROM call_groups").fetchone() == (2,)
        assert run.connection.execute("SELECT count(*) FROM call_group_index").fetchone() == (2,)


def test_a_step_that_fails_leaves_the_old_run_whole(old_run: Path) -> None:
    with closing(sqlite3.connect(old_run)) as db:
        db.execute("DROP INDEX marks_by_kind")
    with pytest.raises(RunFileError, match="cannot be brought up to date"):
        Run.open(old_run)
    with closing(sqlite3.connect(old_run)) as db:
        assert db.execute("SELECT count(*) FROM marks").fetchone() == (3,)
    assert version(old_run) == "1"
    with pytest.raises(RunFileError, match="cannot be copied"):
        Run.read(old_run)


@pytest.mark.parametrize("number", ["0", "99", "x"])
def test_a_version_that_is_not_known_is_one_clear_error(old_run: Path, number: str) -> None:
    with closing(sqlite3.connect(old_run)) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (number,))
        db.commit()
    with pytest.raises(RunFileError, match="version"):
        Run.read(old_run)


def test_report_reads_an_old_run_and_leaves_nothing_behind(
    old_run: Path, replay: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "temporary").mkdir()
    done = replay("report", old_run, "--format", "csv", TMPDIR=str(tmp_path / "temporary"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("files/read") == 3
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_browser_opens_an_old_run_alone_and_beside_another(old_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    shutil.copy(old_run, other)
    session = OpenRun(old_run, against=other)
    try:
        assert session.vocabulary.tools == (("files", "read"),)
        assert [model.schema for model in models_to_compare(session.connection)] == ["main", "other"]
        assert session.check_file() == "none"
    finally:
        session.close()
    assert (version(old_run), version(other)) == ("1", "1")
