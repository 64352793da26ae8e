"""Pieces of SQL that several queries share."""

from __future__ import annotations

import sqlite3

import pytest

from replay.runfile.rows import in_files


@pytest.mark.parametrize("files", [(), (3,), (2, 3, 4), (4, 2, 3, 3), (1, 3, 5), tuple(range(1, 40_000, 2))])
def test_the_files_that_are_asked_for_are_found_in_any_order_and_number(files: tuple[int, ...]) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (file INTEGER)")
    db.executemany("INSERT INTO t VALUES (?)", ((number,) for number in range(1, 7)))
    found = db.execute(f"SELECT file FROM t WHERE {in_files('file', files)}").fetchall()
    assert {number for (number,) in found} == set(files) & set(range(1, 7))
    assert len(db.execute(f"SELECT file FROM t WHERE {in_files('file', None)}").fetchall()) == 6
